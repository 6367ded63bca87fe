// BlockingLanes: the threads of the stages that were declared to wait rather than compute.
#pragma once

#include "millrace/base/result.h"
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
// serial) that are made when tokens wait and no thread of the lane does. A blocking source has one thread.
// The threads compute nothing else: what a token needs next is done by whom `results` gives it to.
//
// Thread-safe once constructed, but for the destructor, which joins the threads. Before it nothing may be in
// flight any more, and the source must have ended.
class BlockingLanes {
 public:
  // Called by the lanes' threads after each step: takes over context.ready and clears the context's flags.
  // `continued` is the stepped token if it goes on, else null.
  using Results = std::function<void(Token* continued, Engine::Context& context)>;

  BlockingLanes(Engine& engine, Results results);
  ~BlockingLanes();
  BlockingLanes(const BlockingLanes&) = delete;
  BlockingLanes& operator=(const BlockingLanes&) = delete;

  // Starts the thread of the source, which is a blocking one. Failure when the system refuses it.
  [[nodiscard]] Status start_source() noexcept;
  // The source is open again.
  void wake_source() { engine_->gate().wake_source(); }

  // Leaves `token`, which is at a blocking stage, to the stage's lane. False if the system refuses the lane
  // its first thread: the caller has to step the token then.
  [[nodiscard]] bool take(Token* token) noexcept;

 private:
  struct Lane {
    TokenQueue queue;
    std::mutex mutex;  // of the threads
    std::vector<std::thread> threads;
    std::size_t most_threads = 0;
    Engine::Context* next_context = nullptr;  // of the thread that the system refused
  };

  // Whether the lane has a thread, a new one if the tokens are more than the threads that wait for them.
  [[nodiscard]] bool staff(Lane& lane) noexcept;
  void serve(Lane& lane, Engine::Context& context);
  void serve_source(Engine::Context& context);

  Engine* engine_;
  Results results_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by stage; null for stages that do not block
  std::thread source_;
};

}  // namespace millrace::stream
