// Waits: the items of a run that wait for something outside it without holding a thread.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/item/token.h"
#include "millrace/stream/program/wait.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace millrace::stream {

// A waiting token belongs only to its Wait. The thread that completes the Wait returns the token to the
// strategy. A token that the run gives up is returned too, without an output. In both cases it goes through
// the rest of its step as if the call had returned only then. This is why order, limits, tokens and bytes
// need no special case for waiting.
//
// Outlives the run, so that late completions find their wait over. close() waits for completions that are in
// progress when the run ends.
//
// Thread-safe. A single mutex is taken twice per wait.
class Waits {
 public:
  // Implemented by the run. Both functions are called with the mutex held; they must not wait or call back.
  class Run {
   public:
    virtual void fail_wait(const Token& token, Error error, std::exception_ptr thrown) noexcept = 0;
    // Whether the token's item has been given up.
    [[nodiscard]] virtual bool gives_up(const Token& token) const noexcept = 0;

   protected:
    Run() = default;
    ~Run() = default;
    Run(const Run&) = default;
    Run& operator=(const Run&) = default;
  };
  // Takes a token for its next step. Called from any thread; must not wait or call back.
  using Resume = std::function<void(Token* token)>;

  Waits(Run& run, std::size_t stages, bool traced);

  // The strategy calls open() before the first token is made, to receive resumed tokens, and close() when it
  // accepts no more.
  void open(Resume resume);
  void close() noexcept;

  // Called after the stage's function has returned, by its caller. True: the token goes on at once with the
  // outcome noted in it, which is none if the call `failed`. False: the token waits, and may be gone.
  [[nodiscard]] bool settle(Wait& wait, bool failed) noexcept;
  // Gives up the items after a new cut.
  void sweep() noexcept;

  // The number of items that wait at a stage now, and their total waiting time in seconds if traced.
  [[nodiscard]] std::size_t waiting(std::size_t stage) const;
  [[nodiscard]] double waited_s(std::size_t stage) const;

 private:
  friend class Wait;

  struct OfStage {
    std::size_t waiting = 0;
    double waited_s = 0;
  };

  // Guarded by the mutex:
  void resume(Wait& wait) noexcept;
  void sweep_locked() noexcept;

  Run& run_;
  const bool traced_;
  mutable std::mutex mutex_;
  Resume resume_;
  Wait* first_ = nullptr;
  std::vector<OfStage> stages_;
};

}  // namespace millrace::stream
