// ArrivalStage: admission to a stage that takes one item at a time in the order of arrival.
#pragma once

#include "millrace/stream/item/token.h"

#include <atomic>
#include <cstdint>
#include <utility>

namespace millrace::stream {

// Never blocks: if the stage is taken, a token is left to the current holder. First come, first served,
// except that tokens that arrive during one call may be reordered.
//
// Thread-safety: arrive() is called by the token's carrier, leave() by the holder of the stage.
class ArrivalStage {
 public:
  // `alone`: one thread makes all calls, and no token arrives while the stage is taken.
  explicit ArrivalStage(bool alone) : alone_(alone) {}

  // Returns true if the stage was free and now belongs to the token. Otherwise the token is left to the
  // stage's holder and may be gone when the call returns.
  [[nodiscard]] bool arrive(Token& token) {
    if (alone_) return true;
    // relaxed: only a first guess for the exchange.
    std::uintptr_t found = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (found == vacant) {
        // acquire: the writes of the stage's previous call.
        if (state_.compare_exchange_weak(found, taken, std::memory_order_acquire, std::memory_order_relaxed))
          return true;
      } else {
        token.next = found == taken ? nullptr : token_at(found);
        // release: publishes the token and its item to the holder.
        if (state_.compare_exchange_weak(found, address_of(token), std::memory_order_release,
                                         std::memory_order_relaxed))
          return false;
      }
    }
  }

  // Gives the stage to the returned token. Null if no token waits.
  [[nodiscard]] Token* leave() {
    if (alone_) return nullptr;
    if (!in_turn_) {
      std::uintptr_t found = taken;
      // release: the writes of the stage's function.
      if (state_.compare_exchange_strong(found, vacant, std::memory_order_release, std::memory_order_relaxed))
        return nullptr;
      // acquire: pairs with the release in arrive(). The list is in reverse order of arrival.
      found = state_.exchange(taken, std::memory_order_acquire);
      for (Token* token = token_at(found); token;)
        in_turn_ = std::exchange(token, std::exchange(token->next, in_turn_));
    }
    Token* const first = in_turn_;
    in_turn_ = std::exchange(first->next, nullptr);
    return first;
  }

 private:
  static constexpr std::uintptr_t vacant = 0;
  static constexpr std::uintptr_t taken =
      1;  // no token waits; any other value is the last token that arrived

  bool alone_;
  std::atomic<std::uintptr_t> state_ = vacant;
  Token* in_turn_ = nullptr;  // belongs to the stage's holder
};

}  // namespace millrace::stream
