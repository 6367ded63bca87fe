// Waits: the items of a run that wait for something outside it, and hold no thread meanwhile.
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/item/token.h"
#include "millrace/stream/program/wait.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace millrace::stream {

// A waiting token is nobody's but its Wait's. When that is completed the token goes back to the strategy, by
// the thread that completes it; so does, without an output, one that the run gives up. Either way it goes
// through the rest of its step as if the call had returned only then, which is why order, limits, tokens and
// bytes need no word about waiting.
//
// Outlives the run, for the sake of those who complete something too late: all of them come here, and find
// their wait over. Whoever is in the middle of it when the run ends is waited for by close().
//
// Thread-safe. One mutex for all, taken twice a wait.
class Waits {
 public:
  // The run; both are called with the mutex held, and must neither wait nor come back here.
  class Run {
   public:
    virtual void fail_wait(const Token& token, Error error, std::exception_ptr thrown) noexcept = 0;
    // Whether nothing is to become of the token's item.
    [[nodiscard]] virtual bool gives_up(const Token& token) const noexcept = 0;

   protected:
    Run() = default;
    ~Run() = default;
    Run(const Run&) = default;
    Run& operator=(const Run&) = default;
  };
  // Takes a token that is to be stepped on, from any thread; neither waits nor comes back here.
  using Resume = std::function<void(Token* token)>;

  Waits(Run& run, std::size_t stages, bool traced);

  // By the strategy: where tokens go, before the first is made; and that it is to be asked no more.
  void open(Resume resume);
  void close() noexcept;

  // By whoever called the stage's function with `wait`, when it has returned. True: the token goes on at
  // once, its outcome noted in it, none where the call `failed`. False: it waits, and may be gone.
  [[nodiscard]] bool settle(Wait& wait, bool failed) noexcept;
  // Gives up what is to be given up; after a cut has been made.
  void sweep() noexcept;

  // Of a stage: how many items wait now, and the seconds that all have waited, if traced.
  [[nodiscard]] std::size_t waiting(std::size_t stage) const;
  [[nodiscard]] double waited_s(std::size_t stage) const;

 private:
  friend class Wait;

  struct OfStage {
    std::size_t waiting = 0;
    double waited_s = 0;
  };

  // With the mutex held:
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
