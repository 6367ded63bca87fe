// LimitedStage: who may enter a stage that takes so many items at once.
#pragma once

#include "millrace/stream/item/token.h"
#include "millrace/stream/item/token_list.h"

#include <mutex>

namespace millrace::stream {

// Nobody waits: a token that finds no room is left to whoever makes some. First come, first served.
//
// Thread-safety: arrive() by the token's carrier, leave() by one who was let in. The mutex orders nothing but
// the two numbers: calls of a parallel stage see nothing of each other.
class LimitedStage {
 public:
  // limit: at least 1. `alone`: one thread makes all calls.
  LimitedStage(int limit, bool alone) : alone_(alone), room_(limit) {}

  // Returns whether there was room, which now is the token's. Otherwise the token is left to whoever leaves:
  // it may be gone when the call returns.
  [[nodiscard]] bool arrive(Token& token) {
    if (alone_) return true;
    const std::lock_guard lock(mutex_);
    if (room_ > 0) {
      --room_;
      return true;
    }
    waiting_.push_back(&token);
    return false;
  }

  // Gives the room to the token that is returned, or to nobody: null.
  [[nodiscard]] Token* leave() {
    if (alone_) return nullptr;
    const std::lock_guard lock(mutex_);
    Token* const next = waiting_.pop_front();
    if (next == nullptr) ++room_;
    return next;
  }

 private:
  bool alone_;
  std::mutex mutex_;
  // With the mutex held:
  int room_;
  TokenList waiting_;
};

}  // namespace millrace::stream
