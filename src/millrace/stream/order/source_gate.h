// SourceGate: one caller of the source at a time, and no more items in flight than tokens and bytes allow.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millrace::stream {

// The source is open (anybody may take it), held (somebody calls it), kept (whoever called it last wants to
// be the next, too; others take it only if that one does not come), shut (the limits are reached) or ended.
// Only here is anything held back: what is in flight never waits for tokens or bytes, so the oldest item in
// flight can always go on, retire, and open the source again. See README.md.
//
// Thread-safety: retire() by anybody; issue(), replace(), keep(), reopen() and end() by the holder.
class SourceGate {
 public:
  // tokens >= 1. `alone`: one thread makes all calls.
  SourceGate(std::uint64_t tokens, std::size_t byte_budget, bool alone)
      : tokens_(tokens), budget_(byte_budget), alone_(alone) {}

  // Takes the source if it is open. Then issue() calls may follow while may_issue(), then keep(), reopen() or
  // end().
  [[nodiscard]] bool try_take() {
    // relaxed: a stale answer costs one round of looking for work, see IdleWorkers.
    return state_.load(std::memory_order_relaxed) == open && take_from(open, held);
  }

  // Lets go of the source for a while; may_issue(). `begins`: it was not kept before.
  void keep(bool begins) {
    // seq_cst: ordered before the look for sleepers in IdleWorkers. release: what the source's function
    // wrote.
    state_.store(kept, begins ? std::memory_order_seq_cst : std::memory_order_release);
  }
  // Takes the source again if nobody else has: by whoever kept it. may_issue() is still true then.
  [[nodiscard]] bool take_again() {
    if (!alone_) return take_from(kept, called);
    state_.store(called, std::memory_order_relaxed);
    return true;
  }
  // Takes it from whoever keeps it, unless it is being called.
  [[nodiscard]] bool take_over() {
    return state_.load(std::memory_order_relaxed) == kept && take_from(kept, held);
  }
  // Also while it is called by whoever keeps it.
  [[nodiscard]] bool is_kept() const {
    const std::uint32_t state = state_.load(std::memory_order_seq_cst);
    return state == kept || state == called;
  }

  [[nodiscard]] bool is_open() const { return state_.load(std::memory_order_seq_cst) == open; }

  [[nodiscard]] bool has_ended() const { return state_.load(std::memory_order_acquire) == ended; }

  // Whether another item may be in flight: fewer than `tokens` are, and fewer bytes than the budget, or none.
  // acquire: whoever sees the room sees all that the retired items left behind.
  [[nodiscard]] bool may_issue() const {
    return has_room(admitted_.load(std::memory_order_relaxed) - retired_.load(std::memory_order_acquire));
  }
  // How many items of `bytes` each may be in flight at once; at least 1.
  [[nodiscard]] std::uint64_t most_items_of(std::size_t bytes) const {
    if (bytes == 0) return tokens_;
    return std::clamp<std::uint64_t>(budget_ / bytes + (budget_ % bytes != 0 ? 1 : 0), 1, tokens_);
  }

  // Counts an item of `bytes`; returns its sequence number.
  [[nodiscard]] std::uint64_t issue(std::size_t bytes) {
    admitted_.store(admitted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    charged_.store(charged_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    peak_bytes_ = std::max(peak_bytes_, bytes_charged());
    const std::uint64_t number = issued_.load(std::memory_order_relaxed);
    issued_.store(number + 1, std::memory_order_relaxed);
    return number;
  }

  // An item of `bytes` is gone, as in retire(); cheaper, as nobody waits for the room but the holder.
  void replace(std::size_t bytes) {
    admitted_.store(admitted_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    charged_.store(charged_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
  }

  // Lets go of the source; returns whether it is open to others now (if not it is shut, until a retire()).
  bool reopen() {
    if (may_issue()) {
      // seq_cst: ordered before the look for sleepers in IdleWorkers. Releases what the source's function
      // wrote.
      state_.store(open, std::memory_order_seq_cst);
      return true;
    }
    // seq_cst, with retire(): either we see the room that an item left, or its retirer sees us shut.
    state_.store(shut, std::memory_order_seq_cst);
    return may_issue_now() && open_if_shut();
  }

  // The source will not be called again. Returns whether nothing is in flight; otherwise the last retire()
  // says so. More than one of the two may.
  [[nodiscard]] bool end() {
    state_.store(ended, std::memory_order_seq_cst);
    return drained();
  }

  struct Retired {
    bool opened = false;   // the source was shut and is open now
    bool drained = false;  // the source has ended and this was the last item in flight
  };
  // An item of `bytes` and all that became of it is gone.
  [[nodiscard]] Retired retire(std::size_t bytes) {
    if (alone_) {
      released_.store(released_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
      retired_.store(retired_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      released_.fetch_add(bytes, std::memory_order_relaxed);
      // seq_cst, with reopen() and end(). Releases what became of the item.
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

  // What calls have handed on at once takes so many bytes more, until they are given back. By anybody; room
  // that this makes is seen by the next retire().
  void charge(std::size_t bytes) {
    const std::size_t handed_on = handed_on_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t peak = peak_handed_on_.load(std::memory_order_relaxed);
    while (peak < handed_on &&
           !peak_handed_on_.compare_exchange_weak(peak, handed_on, std::memory_order_relaxed)) {
    }
  }
  void give_back(std::size_t bytes) { handed_on_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Sleeps while the source is shut; to be woken by wake_source(). For a source with a thread of its own.
  void await_change() const { state_.wait(shut, std::memory_order_acquire); }
  void wake_source() { state_.notify_all(); }

  // Items so far; somewhat late for others than the holder.
  [[nodiscard]] std::uint64_t issued() const { return issued_.load(std::memory_order_relaxed); }
  // Also somewhat late, and while it is written.
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

  // To be called when nobody holds the source any more. Items, and what calls have handed on, may not have
  // been at their peaks at once.
  [[nodiscard]] std::size_t peak_bytes() const {
    return peak_bytes_ + peak_handed_on_.load(std::memory_order_relaxed);
  }

 private:
  enum State : std::uint32_t { open, held, kept, called, shut, ended };

  [[nodiscard]] bool take_from(std::uint32_t expected, State state) {
    // acquire: what the source's function wrote in the call before.
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
  // Written by the holder alone. relaxed atomics: others read them when the source is shut or ended, at worst
  // a little late, and act only if the state is still so; the next holder looks again.
  alignas(128) std::atomic<std::uint32_t> state_ = open;
  std::atomic<std::uint64_t> issued_ = 0;
  // What is in flight is what was admitted and not retired, in items, and charged and not released, in bytes.
  // What was replaced counts as never admitted.
  std::atomic<std::uint64_t> admitted_ = 0;
  std::atomic<std::size_t> charged_ = 0;
  std::size_t peak_bytes_ = 0;
  // Written by whoever ends an item.
  alignas(128) std::atomic<std::uint64_t> retired_ = 0;
  std::atomic<std::size_t> released_ = 0;
  // Written by whoever hands on very much, which is rare. Relaxed: it publishes nothing.
  std::atomic<std::size_t> handed_on_ = 0;
  std::atomic<std::size_t> peak_handed_on_ = 0;
};

}  // namespace millrace::stream
