// Kernels of groups, compiled by a program of its own: a crash, a hang or a lack of memory of the compiler is
// an Error for the kernel and nothing else, and who needs nothing compiled does not load a compiler.
#pragma once

#include "millrace/base/child_process.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/base/stoppable_wait.h"
#include "millrace/image/kernel/compiler_message.h"
#include "millrace/machine/cpus/affinity_mask.h"

#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::image {

// How much of a processor the compilation of a kernel may take from the work in the foreground.
enum class Urgency {
  background,  // the class SCHED_IDLE: where the work uses all processors, next to none
  urgent,      // that of the work itself, which runs worse until the kernel is there
};

// The program millrace-kernel-compiler: what the environment variable MILLRACE_KERNEL_COMPILER names; else
// the companion_program() of this one.
[[nodiscard]] std::filesystem::path default_kernel_compiler();

struct KernelCompilerOptions {
  std::filesystem::path program = default_kernel_compiler();
  // Where the compiler may run; empty: where the thread that starts it may.
  machine::AffinityMask cpus;
  // A kernel that is not there after this time never will be. Idle-priority beside a full load counts as
  // well.
  std::chrono::milliseconds time_limit = std::chrono::minutes(5);
};

struct CompileFailure {
  enum class Kind {
    refused,    // this kernel cannot be compiled, however often it is tried
    not_run,    // there is no compiler at the moment; tells nothing about the kernel
    cancelled,  // as asked for
  };
  Kind kind = Kind::refused;
  Error error;
};

// One process, started when there is something to compile and kept for what comes next. It cannot outlive the
// thread that started it. Belongs to one thread.
class KernelCompiler {
 public:
  KernelCompiler(const KernelCompilerOptions& options, Urgency urgency)
      : options_(options), urgency_(urgency) {}
  ~KernelCompiler() { stop(); }
  KernelCompiler(const KernelCompiler&) = delete;
  KernelCompiler& operator=(const KernelCompiler&) = delete;

  // A kernel's machine code as a relocatable object. It calls functions of the C library at most and holds no
  // address, so it may be kept and loaded again by a program with the same filters. `cancel` ends the wait
  // and the process.
  [[nodiscard]] std::expected<std::vector<std::byte>, CompileFailure>
  compile(const KernelSpec& spec, machine::Isa isa, const StoppableWait& cancel);

  [[nodiscard]] bool running() const { return process_.exists(); }
  // Kills the process and waits for its end.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Status start();
  [[nodiscard]] std::expected<Message, CompileFailure> receive(const StoppableWait& cancel,
                                                               Clock::time_point deadline);
  [[nodiscard]] std::expected<void, CompileFailure> start_and_greet(const StoppableWait& cancel,
                                                                    Clock::time_point deadline);
  // What became of a process that closed its end of the socket.
  [[nodiscard]] std::string end_of_process();

  const KernelCompilerOptions& options_;
  const Urgency urgency_;
  ChildProcess process_;
  Descriptor socket_;
  std::vector<std::byte> received_;
};

}  // namespace millrace::image
