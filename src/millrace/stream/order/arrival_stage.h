// ArrivalStage: who may enter a stage that takes items one at a time as they come.
#pragma once

#include "millrace/stream/item/token.h"

#include <atomic>
#include <cstdint>
#include <utility>

namespace millrace::stream {

// Nobody waits: a token that finds the stage taken is left to whoever has it. First come, first served, up to
// the order within what arrives during one call.
//
// Thread-safety: arrive() by the token's carrier, leave() by the one who has the stage.
class ArrivalStage {
 public:
  // `alone`: one thread makes all calls, and no token arrives while another has the stage.
  explicit ArrivalStage(bool alone) : alone_(alone) {}

  // Returns whether the stage was free and now is the token's. Otherwise the token is left to whoever has the
  // stage: it may be gone when the call returns.
  [[nodiscard]] bool arrive(Token& token) {
    if (alone_) return true;
    // relaxed: decides nothing before the exchange.
    std::uintptr_t found = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (found == vacant) {
        // acquire: what the stage's function wrote in the call before.
        if (state_.compare_exchange_weak(found, taken, std::memory_order_acquire, std::memory_order_relaxed))
          return true;
      } else {
        token.next = found == taken ? nullptr : token_at(found);
        // release: the token and its item, to the thread that has the stage.
        if (state_.compare_exchange_weak(found, address_of(token), std::memory_order_release,
                                         std::memory_order_relaxed))
          return false;
      }
    }
  }

  // Gives the stage to the token that is returned, or to nobody: null.
  [[nodiscard]] Token* leave() {
    if (alone_) return nullptr;
    if (!in_turn_) {
      std::uintptr_t found = taken;
      // release: what the stage's function wrote.
      if (state_.compare_exchange_strong(found, vacant, std::memory_order_release, std::memory_order_relaxed))
        return nullptr;
      // acquire: what arrive() released. The list is in the reverse order of arrival.
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
  static constexpr std::uintptr_t taken = 1;  // and nobody waits; any other value is the last that arrived

  bool alone_;
  std::atomic<std::uintptr_t> state_ = vacant;
  Token* in_turn_ = nullptr;  // belongs to whoever has the stage
};

}  // namespace millrace::stream
