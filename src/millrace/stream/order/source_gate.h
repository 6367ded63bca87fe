// SourceGate: allows one caller of the source at a time and limits the tokens and bytes in flight.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millrace::stream {

// The source is open (any thread may take it), held (being called), kept (its last caller wants to be the
// next too; others take it only if that caller does not return), shut (a limit is reached) or ended. This is
// the only place that holds anything back. Items in flight never wait for tokens or bytes, so the oldest one
// can always go on, retire, and open the source again. See README.md.
//
// Thread-safety: any thread may call retire(). Only the holder may call issue(), replace(), keep(), reopen()
// and end().
class SourceGate {
 public:
  // tokens >= 1. `alone`: one thread makes all calls.
  SourceGate(std::uint64_t tokens, std::size_t byte_budget, bool alone)
      : tokens_(tokens), budget_(byte_budget), alone_(alone) {}

  // Takes the source if it is open. The holder calls issue() while may_issue() is true, then keep(), reopen()
  // or end().
  [[nodiscard]] bool try_take() {
    // relaxed: a stale value costs one round of searching for work, see IdleWorkers.
    return state_.load(std::memory_order_relaxed) == open && take_from(open, held);
  }

  // Releases the source for a while. Requires may_issue(). `begins`: it was not kept before.
  void keep(bool begins) {
    // seq_cst: ordered before the check for sleepers in IdleWorkers. release: the writes of the source's
    // function.
    state_.store(kept, begins ? std::memory_order_seq_cst : std::memory_order_release);
  }
  // Called by the keeper: takes the source again if no other thread has. may_issue() is then still true.
  [[nodiscard]] bool take_again() {
    if (!alone_) return take_from(kept, called);
    state_.store(called, std::memory_order_relaxed);
    return true;
  }
  // Takes the source from its keeper, unless it is being called.
  [[nodiscard]] bool take_over() {
    return state_.load(std::memory_order_relaxed) == kept && take_from(kept, held);
  }
  // Also true while the keeper calls it.
  [[nodiscard]] bool is_kept() const {
    const std::uint32_t state = state_.load(std::memory_order_seq_cst);
    return state == kept || state == called;
  }

  [[nodiscard]] bool is_open() const { return state_.load(std::memory_order_seq_cst) == open; }

  [[nodiscard]] bool has_ended() const { return state_.load(std::memory_order_acquire) == ended; }

  // Whether another item may be in flight: fewer than `tokens` are, and their bytes are below the budget or
  // there are none. acquire: a thread that sees the room also sees all effects of the retired items.
  [[nodiscard]] bool may_issue() const {
    return has_room(admitted_.load(std::memory_order_relaxed) - retired_.load(std::memory_order_acquire));
  }
  // How many items of `bytes` each may be in flight at once; at least 1.
  [[nodiscard]] std::uint64_t most_items_of(std::size_t bytes) const {
    if (bytes == 0) return tokens_;
    return std::clamp<std::uint64_t>(budget_ / bytes + (budget_ % bytes != 0 ? 1 : 0), 1, tokens_);
  }

  // Counts an item of `bytes` and returns its sequence number.
  [[nodiscard]] std::uint64_t issue(std::size_t bytes) {
    admitted_.store(admitted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    charged_.store(charged_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    peak_bytes_ = std::max(peak_bytes_, bytes_charged());
    const std::uint64_t number = issued_.load(std::memory_order_relaxed);
    issued_.store(number + 1, std::memory_order_relaxed);
    return number;
  }

  // An item of `bytes` is gone, as in retire(). Cheaper, because only the holder waits for its room.
  void replace(std::size_t bytes) {
    admitted_.store(admitted_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    charged_.store(charged_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
  }

  // Releases the source. Returns true if it is open to others now. If not, it is shut until a retire().
  bool reopen() {
    if (may_issue()) {
      // seq_cst: ordered before the check for sleepers in IdleWorkers. Releases the writes of the source's
      // function.
      state_.store(open, std::memory_order_seq_cst);
      return true;
    }
    // seq_cst, paired with retire(): either this thread sees the freed room, or the retiring one sees `shut`.
    state_.store(shut, std::memory_order_seq_cst);
    return may_issue_now() && open_if_shut();
  }

  // The source will not be called again. Returns true if nothing is in flight. Otherwise the last retire()
  // reports it. Both may report it.
  [[nodiscard]] bool end() {
    state_.store(ended, std::memory_order_seq_cst);
    return drained();
  }

  struct Retired {
    bool opened = false;   // the source was shut and is open now
    bool drained = false;  // the source has ended and this was the last item in flight
  };
  // An item of `bytes` and all its descendants are gone.
  [[nodiscard]] Retired retire(std::size_t bytes) {
    if (alone_) {
      released_.store(released_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
      retired_.store(retired_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      released_.fetch_add(bytes, std::memory_order_relaxed);
      // seq_cst, paired with reopen() and end(). Releases the effects of the item.
      retired_.fetch_add(1, std::memory_order_seq_cst);
    }
    switch (state_.load(std::memory_order_seq_cst)) {
    case shut:
      return {.opened = may_issue_now() && open_if_shut()};
    case ended:
      return {.drained = drained()};
    default:
      return {};
    }
  }

  // Charges `bytes` more for large outputs of a call, until they are given back. Any thread may call this.
  // The next retire() notices the room that give_back() makes.
  void charge(std::size_t bytes) {
    const std::size_t handed_on = handed_on_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t peak = peak_handed_on_.load(std::memory_order_relaxed);
    while (peak < handed_on &&
           !peak_handed_on_.compare_exchange_weak(peak, handed_on, std::memory_order_relaxed)) {
    }
  }
  void give_back(std::size_t bytes) { handed_on_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Sleeps while the source is shut, until wake_source(). Used if the source has a thread of its own.
  void await_change() const { state_.wait(shut, std::memory_order_acquire); }
  void wake_source() { state_.notify_all(); }

  // Items so far. May lag behind for threads other than the holder.
  [[nodiscard]] std::uint64_t issued() const { return issued_.load(std::memory_order_relaxed); }
  // May also lag behind, and may be called at any time.
  [[nodiscard]] std::uint64_t items_in_flight() const {
    const std::uint64_t retired = retired_.load(std::memory_order_relaxed);
    const std::uint64_t admitted = admitted_.load(std::memory_order_relaxed);
    return std::min(admitted > retired ? admitted - retired : 0, tokens_);
  }
  [[nodiscard]] std::size_t bytes_in_flight() const {
    const std::size_t released = released_.load(std::memory_order_relaxed);
    const std::size_t charged = charged_.load(std::memory_order_relaxed);
    return (charged > released ? charged - released : 0) + handed_on_.load(std::memory_order_relaxed);
  }

  // Call this when the source is no longer held. An upper bound, because the peaks of items and of large
  // outputs need not coincide.
  [[nodiscard]] std::size_t peak_bytes() const {
    return peak_bytes_ + peak_handed_on_.load(std::memory_order_relaxed);
  }

 private:
  enum State : std::uint32_t { open, held, kept, called, shut, ended };

  [[nodiscard]] bool take_from(std::uint32_t expected, State state) {
    // acquire: the writes of the source's previous call.
    return state_.compare_exchange_strong(expected, state, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t bytes_charged() const {
    return charged_.load(std::memory_order_relaxed) - released_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool may_issue_now() const {
    return has_room(admitted_.load(std::memory_order_relaxed) - retired_.load(std::memory_order_seq_cst));
  }
  [[nodiscard]] bool has_room(std::uint64_t in_flight) const {
    return in_flight < tokens_ &&
           (in_flight == 0 || bytes_charged() + handed_on_.load(std::memory_order_relaxed) < budget_);
  }
  bool open_if_shut() {
    std::uint32_t expected = shut;
    return state_.compare_exchange_strong(expected, open, std::memory_order_seq_cst);
  }
  [[nodiscard]] bool drained() const {
    return retired_.load(std::memory_order_seq_cst) == admitted_.load(std::memory_order_relaxed);
  }

  const std::uint64_t tokens_;
  const std::size_t budget_;
  const bool alone_;
  // Written only by the holder. relaxed atomics: others read them when the source is shut or ended. Their
  // values may be stale, but they act only if the state is unchanged, and the next holder checks again.
  alignas(128) std::atomic<std::uint32_t> state_ = open;
  std::atomic<std::uint64_t> issued_ = 0;
  // In flight, in items: admitted minus retired. In bytes: charged minus released. Replaced items count as
  // never admitted.
  std::atomic<std::uint64_t> admitted_ = 0;
  std::atomic<std::size_t> charged_ = 0;
  std::size_t peak_bytes_ = 0;
  // Written by the threads that retire items.
  alignas(128) std::atomic<std::uint64_t> retired_ = 0;
  std::atomic<std::size_t> released_ = 0;
  // Written by threads that emit large outputs, which is rare. relaxed: it publishes nothing.
  std::atomic<std::size_t> handed_on_ = 0;
  std::atomic<std::size_t> peak_handed_on_ = 0;
};

}  // namespace millrace::stream
