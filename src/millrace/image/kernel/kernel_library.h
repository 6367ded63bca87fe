// Where kernels come from: those of single filters are built into the program for every instruction set, so
// that a run starts at once; those of fused groups were kept by an earlier run, or are compiled by a process
// beside this one while it goes on.
#pragma once

#include "millrace/base/result.h"
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
  KernelCache cache;               // by default one that keeps nothing
  KernelCompilerOptions compiler;  // no `cpus`: where the thread may run that makes the library
};

// Kernels by group and instruction set. All functions may be called from any thread. For each urgency one
// kernel is compiled at a time, by a process that starts with the first request and ends some time after the
// last one, or with the library; so nothing urgent ever waits for something that is not. What cannot be
// compiled, and what its compiler broke down over, is an Error for good. Where there was no compiler to be
// had, the next request tries again. Of a single filter with a formula the kernel is then the one that needs
// none (formula_kernel.h), and no Error.
class KernelLibrary {
 public:
  explicit KernelLibrary(KernelLibraryOptions options = {});
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // The kernel if it is there; nullptr while it is not; the Error of its compilation if that failed. Never
  // waits for a compilation. Looks into the cache the first time it is asked for a kernel, which takes a
  // fraction of a millisecond where the kernel is there.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> find(const KernelSpec& spec, machine::Isa isa);
  // Has the kernel compiled unless it is there or on its way. One on its way in the background becomes urgent
  // by a second request; if it is being compiled already, that begins again, since Linux lets nobody raise a
  // priority.
  void request(const KernelSpec& spec, machine::Isa isa, Urgency urgency = Urgency::background);
  // Requests the kernel, urgently, and waits for it. An Error where it cannot be compiled, and where the wait
  // is stopped.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> wait(const KernelSpec& spec, machine::Isa isa,
                                                           const std::stop_token& stop = {});

  // Whether a compilation is going on: measurements taken meanwhile are not to be trusted blindly.
  [[nodiscard]] bool compiling() const;
  // Kernels compiled so far, whether that succeeded or not, and kernels found in the cache.
  [[nodiscard]] int compiled() const;
  [[nodiscard]] int loaded() const;
  [[nodiscard]] double compile_seconds() const;
  // The first of the Errors, for whoever wants to know why something runs unfused.
  [[nodiscard]] std::optional<Error> first_error() const;

 private:
  using Key = std::pair<std::string, machine::Isa>;
  enum class State { absent, queued, done };
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    Error error;
    State state = State::absent;
    bool try_again = false;  // when asked for once more
  };
  struct Job {
    KernelSpec spec;
    Key key;
  };
  struct Worker {
    std::deque<Job> queue;
    std::optional<Key> current;
    std::unique_ptr<StoppableWait> cancel;  // of the current one
    std::thread thread;
  };

  [[nodiscard]] Worker& worker(Urgency urgency) { return workers_[static_cast<std::size_t>(urgency)]; }
  // All of these with the mutex held.
  [[nodiscard]] Entry& look_up(const KernelSpec& spec, const Key& key);
  void enqueue(const KernelSpec& spec, const Key& key, Urgency urgency);
  void make_urgent(const KernelSpec& spec, const Key& key);
  void start(Urgency urgency);
  void fail(Entry& entry, const KernelSpec& spec, const CompileFailure& failure);
  void give_up(const Job& job, const Error& error) noexcept;
  // Lets go of the mutex meanwhile.
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
