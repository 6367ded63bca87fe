// BlockingLanes: the threads of stages declared as blocking.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/item/token_queue.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::stream {

// Each blocking stage has a lane: a queue and up to StageOptions::blocking_threads threads (one if it is
// serial). Threads are created when tokens wait and all threads of the lane are busy. A blocking source has
// one thread. These threads compute nothing else; `results` hands the token's next step to another thread.
//
// Thread-safe once constructed, except for the destructor, which joins the threads. It requires that nothing
// is in flight and that the source has ended.
class BlockingLanes {
 public:
  // Called by the lanes' threads after each step. Takes over context.ready and clears the context's flags.
  // `continued` is the stepped token if it can go on, else null.
  using Results = std::function<void(Token* continued, Engine::Context& context)>;

  BlockingLanes(Engine& engine, Results results);
  ~BlockingLanes();
  BlockingLanes(const BlockingLanes&) = delete;
  BlockingLanes& operator=(const BlockingLanes&) = delete;

  // Starts the thread of a blocking source. Fails if the system refuses it.
  [[nodiscard]] Status start_source() noexcept;
  // Call this when the source is open again.
  void wake_source() { engine_->gate().wake_source(); }

  // Gives `token`, which is at a blocking stage, to that stage's lane. False if the system refuses the lane
  // its first thread. The caller then has to step the token.
  [[nodiscard]] bool take(Token* token) noexcept;

 private:
  struct Lane {
    TokenQueue queue;
    std::mutex mutex;  // guards the threads
    std::vector<std::thread> threads;
    std::size_t most_threads = 0;
    Engine::Context* next_context = nullptr;  // of a thread that the system refused, for the next attempt
  };

  // Whether the lane has a thread. Creates one if tokens outnumber the waiting threads.
  [[nodiscard]] bool staff(Lane& lane) noexcept;
  class Helper;
  void serve(Lane& lane, Engine::Context& context);
  void serve_source(Engine::Context& context);

  Engine* engine_;
  Results results_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by stage; null for stages that do not block
  std::thread source_;
};

}  // namespace millrace::stream
