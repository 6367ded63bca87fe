// Where kernels come from: those of single filters are built into the program for every instruction set, so
// that a run starts at once; those of fused groups are compiled while it runs.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/kernel.h"
#include "millrace/machine/isa.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <utility>

namespace millrace::image {

// Kernels by group and instruction set. All functions may be called from any thread. One background thread of
// lowest priority compiles; it starts with the first request and ends with the library.
class KernelLibrary {
 public:
  KernelLibrary() = default;
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // The kernel if it is there; nullptr while it is not; the Error of its compilation if that failed. Never
  // waits for a compilation.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> find(const KernelSpec& spec, machine::Isa isa);
  // Has the kernel compiled unless it is there or on its way.
  void request(const KernelSpec& spec, machine::Isa isa);
  // Requests the kernel and waits for it. An Error where it cannot be compiled.
  [[nodiscard]] Result<std::shared_ptr<const Kernel>> wait(const KernelSpec& spec, machine::Isa isa);

  // Whether a compilation is going on: measurements taken meanwhile are not to be trusted blindly.
  [[nodiscard]] bool compiling() const;
  [[nodiscard]] int compiled() const;
  [[nodiscard]] double compile_seconds() const;

 private:
  using Key = std::pair<std::string, machine::Isa>;
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    Error error;
    bool done = false;
  };

  void compile_loop();
  void enqueue(const KernelSpec& spec, const Key& key);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Entry> entries_;
  std::deque<std::pair<KernelSpec, Key>> queue_;
  bool busy_ = false;
  bool stopping_ = false;
  bool started_ = false;
  int compiled_ = 0;
  std::int64_t compile_ns_ = 0;
  pthread_t thread_{};
};

}  // namespace millrace::image
