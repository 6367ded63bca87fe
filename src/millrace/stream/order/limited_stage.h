// LimitedStage: admission to a stage with a limited number of concurrent items.
#pragma once

#include "millrace/stream/item/token.h"
#include "millrace/stream/item/token_list.h"

#include <mutex>

namespace millrace::stream {

// Never blocks: if there is no room, a token is left to the next holder that leaves. First come, first
// served.
//
// Thread-safety: arrive() is called by the token's carrier, leave() by a thread that was let in. The mutex
// only orders the admission itself. Calls of a parallel stage do not see each other's writes.
class LimitedStage {
 public:
  // limit: at least 1. `alone`: one thread makes all calls.
  LimitedStage(int limit, bool alone) : alone_(alone), room_(limit) {}

  // Returns true if there was room, which the token now occupies. Otherwise the token is left to a leaving
  // thread and may be gone when the call returns.
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

  // Gives the room to the returned token. Null if no token waits.
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
  // Guarded by the mutex:
  int room_;
  TokenList waiting_;
};

}  // namespace millrace::stream
