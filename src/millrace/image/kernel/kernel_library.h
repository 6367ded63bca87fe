// Where kernels come from: those of single filters are built into the program for every instruction set, so
// that a run starts at once; those of fused groups were kept by an earlier run, or are compiled while this
// one goes on.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/kernel.h"
#include "millrace/image/kernel/kernel_cache.h"
#include "millrace/machine/isa.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <utility>
#include <vector>

namespace millrace::image {

// How much of a processor the compilation of a kernel may take from the work in the foreground.
enum class Urgency {
  background,  // the lowest priority: where the work uses all processors, next to none
  urgent,      // a somewhat lower one: when the work runs worse until the kernel is there
};

struct KernelLibraryOptions {
  KernelCache cache;  // by default one that keeps nothing
  // Compiles by Halide's own means into memory, which works on every architecture but keeps nothing.
  bool just_in_time = !can_load_objects;
};

// Kernels by group and instruction set. All functions may be called from any thread. One kernel is compiled
// at a time, the urgent ones first, by a background thread for each urgency; it starts with the first request
// and ends with the library.
class KernelLibrary {
 public:
  explicit KernelLibrary(KernelLibraryOptions options = {}) : options_(std::move(options)) {}
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // The kernel if it is there; nullptr while it is not; the Error of its compilation if that failed. Never
  // waits for a compilation. Looks into the cache the first time it is asked for a kernel, which takes a
  // fraction of a millisecond where the kernel is there.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> find(const KernelSpec& spec, machine::Isa isa);
  // Has the kernel compiled unless it is there or on its way. One that still waits for its turn becomes
  // urgent by a second request; one that is being compiled stays as it is, since Linux lets nobody raise a
  // priority.
  void request(const KernelSpec& spec, machine::Isa isa, Urgency urgency = Urgency::background);
  // Requests the kernel, urgently, and waits for it. An Error where it cannot be compiled.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> wait(const KernelSpec& spec, machine::Isa isa);

  // Whether a compilation is going on: measurements taken meanwhile are not to be trusted blindly.
  [[nodiscard]] bool compiling() const;
  // Kernels compiled so far, whether that succeeded or not, and kernels found in the cache.
  [[nodiscard]] int compiled() const;
  [[nodiscard]] int loaded() const;
  [[nodiscard]] double compile_seconds() const;

 private:
  using Key = std::pair<std::string, machine::Isa>;
  enum class State { absent, queued, done };
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    Error error;
    State state = State::absent;
  };
  struct Job {
    KernelSpec spec;
    Key key;
  };
  // A priority once lowered stays low, so each urgency has a thread of its own.
  struct Compiler {
    std::deque<Job> queue;
    pthread_t thread{};
    bool started = false;
  };

  [[nodiscard]] Compiler& compiler(Urgency urgency) { return compilers_[static_cast<std::size_t>(urgency)]; }
  // With the mutex held.
  [[nodiscard]] Entry& look_up(const KernelSpec& spec, const Key& key);
  void enqueue(const KernelSpec& spec, const Key& key, Urgency urgency);
  void start(Urgency urgency);
  [[nodiscard]] bool has_turn(Urgency urgency);

  template <Urgency urgency> static void* run_compiler(void* library);
  void compile_loop(Urgency urgency);
  // The kernel, and its object where it has one.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> compile(const Job& job,
                                                              std::vector<std::byte>& object) const;

  const KernelLibraryOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Entry> entries_;
  std::array<Compiler, 2> compilers_;  // by urgency
  bool busy_ = false;
  bool stopping_ = false;
  int compiled_ = 0;
  int loaded_ = 0;
  std::int64_t compile_ns_ = 0;
};

}  // namespace millrace::image
