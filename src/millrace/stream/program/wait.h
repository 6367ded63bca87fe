// Wait: tracks an item that is still pending after its stage's function returned, and receives the result.
// Users hold a Continuation (continuation.h), a typed handle to one of these.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/stream/item/token.h"

#include <cstdint>
#include <exception>
#include <memory>

namespace millrace::stream {

class Waits;

// Completed once: the first attempt counts, including the run's own attempt to give up an item after a
// failure, an end or a stop. Later attempts change nothing and return false. May outlive the run and the
// stream.
//
// Thread-safe, except that the destructor must come last. It fails the item if it has not been completed.
class MILLRACE_EXPORT Wait {
 public:
  // `token` is at the stage, and its item is about to be passed to the stage's function.
  Wait(std::shared_ptr<Waits> waits, Token& token);
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // `build` constructs the output at `place` by moving from `from`. Not called if the wait is over.
  bool succeed(void (*build)(void* place, void* from) noexcept, void* from) noexcept;
  // There is no output.
  bool drop() noexcept;
  bool fail(Error error, std::exception_ptr thrown = nullptr) noexcept;
  bool fail(std::exception_ptr thrown) noexcept;

  // Whether it was completed, or given up by the run.
  [[nodiscard]] bool is_over() const noexcept;

 private:
  friend class Waits;

  enum class Phase : std::uint8_t {
    called,     // the stage's function has not returned
    completed,  // the function has not returned, but the result is known
    waiting,    // in the list of waits_
    over,
  };

  template <class Store> bool complete(Token::Outcome outcome, const Store& store) noexcept;

  const std::shared_ptr<Waits> waits_;
  // Guarded by the mutex of waits_:
  Phase phase_ = Phase::called;
  Token* token_;
  std::int64_t since_ns_ = 0;  // used in traced runs
  Wait* previous_ = nullptr;
  Wait* next_ = nullptr;
};

}  // namespace millrace::stream
