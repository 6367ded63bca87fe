// Wait: an item whose stage's function has returned before the item was done, and how it is told what came of
// it. What users hold is a Continuation (continuation.h), a typed handle on one of these.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/stream/item/token.h"

#include <cstdint>
#include <exception>
#include <memory>

namespace millrace::stream {

class Waits;

// Completed once: of several attempts the first counts, also against the run, which gives up what lies behind
// a failure, an end or a stop. The rest changes nothing and is told so. May outlive the run and the stream.
//
// Thread-safe, but for the destructor, which comes after everything else; it fails the item if nobody has
// completed it, since nobody can any more.
class MILLRACE_EXPORT Wait {
 public:
  // `token` is at the stage, and its item is about to be handed to the stage's function.
  Wait(std::shared_ptr<Waits> waits, Token& token);
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // The output is what `build` makes, at `place`, of `from`; not called when the wait is over.
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
    completed,  // nor has it now, but what came of the item is known
    waiting,    // in the list of waits_
    over,
  };

  template <class Store> bool complete(Token::Outcome outcome, const Store& store) noexcept;

  const std::shared_ptr<Waits> waits_;
  // With the mutex of waits_ held:
  Phase phase_ = Phase::called;
  Token* token_;
  std::int64_t since_ns_ = 0;  // of a traced run
  Wait* previous_ = nullptr;
  Wait* next_ = nullptr;
};

}  // namespace millrace::stream
