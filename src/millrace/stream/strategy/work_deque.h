// WorkDeque: the tokens that one worker has yet to go on with, and from which the others steal.
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
// Nardelli (PPoPP 2013), their fences replaced by sequentially consistent accesses: the same instructions on
// x86-64, and understood by the thread sanitizer.
//
// A token for which there is no room, and no memory for more, is kept where only the owner sees it.
//
// Thread-safety: push() and pop() by the owner, steal() and looks_empty() by anybody.
class alignas(128) WorkDeque {
 public:
  WorkDeque() { grow(0, 0); }
  WorkDeque(const WorkDeque&) = delete;
  WorkDeque& operator=(const WorkDeque&) = delete;

  void push(Token* token) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    // acquire: the slot of a stolen token is used again only when the thief has read it.
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
    // seq_cst: publishes the token, and comes before the look for sleepers in IdleWorkers.
    bottom_.store(bottom + 1, std::memory_order_seq_cst);
  }

  // The last that was pushed, those of which others do not know after all others; null when empty.
  [[nodiscard]] Token* pop() {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    // relaxed: top only grows, so what looks empty is.
    if (top_.load(std::memory_order_relaxed) > bottom) return unshared_.pop_front();
    // seq_cst, this store and the next load: a thief that takes the last token sees one, or we see the other.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    Token* token = nullptr;
    if (top <= bottom) {
      token = ring_.load(std::memory_order_relaxed)->at(bottom).load(std::memory_order_relaxed);
      if (top < bottom) return token;
      // The last one: whoever moves top gets it.
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        token = nullptr;
    }
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return token ? token : unshared_.pop_front();
  }

  // The first that was pushed; null when empty or when another was faster.
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

  // Thieves' line and owner's line.
  std::atomic<std::int64_t> top_ = 0;
  alignas(128) std::atomic<std::int64_t> bottom_ = 0;
  std::atomic<Ring*> ring_ = nullptr;
  // Owner's. A thief may still read an old ring, so they live as long as the deque; together they are less
  // than twice the last.
  std::vector<std::unique_ptr<Ring>> rings_;
  TokenList unshared_;  // owner's
};

}  // namespace millrace::stream
