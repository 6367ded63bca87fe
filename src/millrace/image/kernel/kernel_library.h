// The source of all kernels. Those of single filters are built in for every instruction set, so that a run
// starts at once. Those of fused groups come from the cache or are compiled in a separate process during the
// run.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/kernel/kernel.h"
#include "millrace/image/kernel/kernel_cache.h"
#include "millrace/image/kernel/kernel_compiler.h"
#include "millrace/machine/processor/isa.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace millrace::image {

struct KernelLibraryOptions {
  KernelCache cache;               // default: keeps nothing
  KernelCompilerOptions compiler;  // if `cpus` is empty: those of the thread that makes the library
};

// Kernels by group and instruction set. All functions may be called from any thread. Each urgency has its own
// compiler process, which compiles one kernel at a time, so urgent kernels never wait for background ones. It
// starts with the first request and ends some time after the last one, or with the library. A kernel that
// cannot be compiled, or that broke its compiler, is an Error for good. If no compiler was available, the
// next request tries again. For a single filter with a formula, the kernel that needs no compiler
// (formula_kernel.h) is then used and there is no Error.
class KernelLibrary {
 public:
  explicit KernelLibrary(KernelLibraryOptions options = {});
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // Returns the kernel if it is available, nullptr if not yet, and an Error if its compilation failed. Never
  // waits for a compilation. The first call for a kernel looks in the cache, which takes a fraction of a
  // millisecond on a hit.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> find(const KernelSpec& spec, machine::Isa isa);
  // Starts a compilation unless the kernel is available or requested. A second, urgent request promotes a
  // background one. If that is already being compiled, it starts again, because Linux does not let
  // unprivileged processes raise a priority.
  void request(const KernelSpec& spec, machine::Isa isa, Urgency urgency = Urgency::background);
  // Requests the kernel urgently and waits for it. Returns an Error if it cannot be compiled or the wait is
  // stopped.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> wait(const KernelSpec& spec, machine::Isa isa,
                                                           const std::stop_token& stop = {});

  // Whether a compilation is in progress, which can disturb measurements.
  [[nodiscard]] bool compiling() const;
  // Kernels compiled so far, including failures, and kernels found in the cache.
  [[nodiscard]] int compiled() const;
  [[nodiscard]] int loaded() const;
  [[nodiscard]] double compile_seconds() const;
  // The first Error, to explain why something runs unfused.
  [[nodiscard]] std::optional<Error> first_error() const;

 private:
  using Key = std::pair<std::string, machine::Isa>;
  enum class State { absent, queued, done };
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    Error error;
    State state = State::absent;
    bool try_again = false;  // on the next request
  };
  struct Job {
    KernelSpec spec;
    Key key;
  };
  struct Worker {
    std::deque<Job> queue;
    std::optional<Key> current;
    std::unique_ptr<StoppableWait> cancel;  // for the current compilation
    std::thread thread;
  };

  [[nodiscard]] Worker& worker(Urgency urgency) { return workers_[static_cast<std::size_t>(urgency)]; }
  // The mutex must be held for all of these.
  [[nodiscard]] Entry& look_up(const KernelSpec& spec, const Key& key);
  void enqueue(const KernelSpec& spec, const Key& key, Urgency urgency);
  void make_urgent(const KernelSpec& spec, const Key& key);
  void start(Urgency urgency);
  void fail(Entry& entry, const KernelSpec& spec, const CompileFailure& failure);
  void give_up(const Job& job, const Error& error) noexcept;
  // Releases the mutex while compiling.
  void compile(const Job& job, Worker& worker, KernelCompiler& compiler, std::unique_lock<std::mutex>& lock);

  void serve(Urgency urgency);

  const KernelLibraryOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Key, Entry> entries_;
  std::array<Worker, 2> workers_;  // by urgency
  bool stopping_ = false;
  int compiled_ = 0;
  int loaded_ = 0;
  std::int64_t compile_ns_ = 0;
  std::optional<Error> first_error_;
};

}  // namespace millrace::image
