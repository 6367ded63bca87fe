// WorkDeque: one worker's pending tokens, which other workers can steal.
#pragma once

#include "millrace/stream/item/token.h"
#include "millrace/stream/item/token_list.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace millrace::stream {

// The work-stealing deque of Chase and Lev (SPAA 2005) with the memory orders of Le, Pop, Cohen and Zappa
// Nardelli (PPoPP 2013). Their fences are replaced by sequentially consistent accesses, which compile to the
// same instructions on x86-64 and which the thread sanitizer understands.
//
// If the ring is full and cannot grow for lack of memory, a token goes to a list that only the owner sees.
//
// Thread-safety: push() and pop() are for the owner; any thread may call steal() and looks_empty().
class alignas(128) WorkDeque {
 public:
  WorkDeque() { grow(0, 0); }
  WorkDeque(const WorkDeque&) = delete;
  WorkDeque& operator=(const WorkDeque&) = delete;

  void push(Token* token) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    // acquire: the slot of a stolen token is reused only after the thief has read it.
    const std::int64_t top = top_.load(std::memory_order_acquire);
    Ring* ring = ring_.load(std::memory_order_relaxed);
    if (bottom - top >= ring->capacity()) {
      try {
        ring = grow(top, bottom);
      } catch (const std::bad_alloc&) {
        unshared_.push_front(token);
        return;
      }
    }
    ring->at(bottom).store(token, std::memory_order_relaxed);
    // seq_cst: publishes the token, and comes before the check for sleepers in IdleWorkers.
    bottom_.store(bottom + 1, std::memory_order_seq_cst);
  }

  // The most recently pushed token. Tokens of the unshared list come last. Null if empty.
  [[nodiscard]] Token* pop() {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    // relaxed: top only grows, so if the deque looks empty, it is.
    if (top_.load(std::memory_order_relaxed) > bottom) return unshared_.pop_front();
    // seq_cst, this store and the next load: either a thief that takes the last token sees the store, or the
    // owner sees the thief's update of top.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    Token* token = nullptr;
    if (top <= bottom) {
      token = ring_.load(std::memory_order_relaxed)->at(bottom).load(std::memory_order_relaxed);
      if (top < bottom) return token;
      // The last token: the thread that moves top gets it.
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        token = nullptr;
    }
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return token ? token : unshared_.pop_front();
  }

  // The oldest token. Null if empty or if another thread was faster.
  [[nodiscard]] Token* steal() {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    // seq_cst: as in pop(). Acquires the token.
    const std::int64_t bottom = bottom_.load(std::memory_order_seq_cst);
    if (top >= bottom) return nullptr;
    // acquire: the ring's content.
    Token* const token = ring_.load(std::memory_order_acquire)->at(top).load(std::memory_order_relaxed);
    if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
      return nullptr;
    return token;
  }

  [[nodiscard]] bool looks_empty() const {
    return top_.load(std::memory_order_seq_cst) >= bottom_.load(std::memory_order_seq_cst);
  }

 private:
  class Ring {
   public:
    explicit Ring(std::int64_t capacity)
        : mask_(capacity - 1),
          slots_(std::make_unique<std::atomic<Token*>[]>(static_cast<std::size_t>(capacity))) {}
    [[nodiscard]] std::int64_t capacity() const { return mask_ + 1; }
    [[nodiscard]] std::atomic<Token*>& at(std::int64_t i) {
      return slots_[static_cast<std::size_t>(i & mask_)];
    }

   private:
    std::int64_t mask_;
    std::unique_ptr<std::atomic<Token*>[]> slots_;
  };

  Ring* grow(std::int64_t top, std::int64_t bottom) {
    constexpr std::int64_t least_capacity = 64;
    rings_.push_back(std::make_unique<Ring>(std::max(least_capacity, 2 * (bottom - top))));
    Ring* const ring = rings_.back().get();
    for (std::int64_t i = top; i < bottom; ++i)
      ring->at(i).store(ring_.load(std::memory_order_relaxed)->at(i).load(std::memory_order_relaxed),
                        std::memory_order_relaxed);
    ring_.store(ring, std::memory_order_release);
    return ring;
  }

  // On separate cache lines: top_ is written by thieves, the rest by the owner.
  std::atomic<std::int64_t> top_ = 0;
  alignas(128) std::atomic<std::int64_t> bottom_ = 0;
  std::atomic<Ring*> ring_ = nullptr;
  // Used by the owner. A thief may still read an old ring, so rings live as long as the deque. The old ones
  // together are smaller than the last.
  std::vector<std::unique_ptr<Ring>> rings_;
  TokenList unshared_;  // the owner's
};

}  // namespace millrace::stream
