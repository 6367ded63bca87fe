// Compiles kernels of groups in a separate process. If the compiler crashes, hangs or runs out of memory,
// only that kernel fails. Programs that need no compilation do not load the compiler.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/stoppable_wait.h"
#include "millrace/base/error/result.h"
#include "millrace/base/process/child_process.h"
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

// Priority of a compilation relative to the foreground work.
enum class Urgency {
  background,  // SCHED_IDLE: gets almost no CPU time while the work uses all processors
  urgent,      // the priority of the work itself, which is slow until the kernel is available
};

// Path of the program millrace-kernel-compiler: the value of the environment variable
// MILLRACE_KERNEL_COMPILER, else the companion_program() of this program.
[[nodiscard]] std::filesystem::path default_kernel_compiler();

struct KernelCompilerOptions {
  std::filesystem::path program = default_kernel_compiler();
  // CPUs for the compiler. If empty, those of the thread that starts it.
  machine::AffinityMask cpus;
  // A kernel that takes longer than this counts as impossible to compile. This includes time waiting at idle
  // priority on a busy machine.
  std::chrono::milliseconds time_limit = std::chrono::minutes(5);
};

struct CompileFailure {
  enum class Kind {
    refused,    // this kernel cannot be compiled; trying again is pointless
    not_run,    // no compiler is available at the moment; says nothing about the kernel
    cancelled,  // as requested
  };
  Kind kind = Kind::refused;
  Error error;
};

// One process, started by the first compilation and kept for later ones. It cannot outlive the thread that
// started it. Not thread-safe: must be used by one thread.
class KernelCompiler {
 public:
  KernelCompiler(const KernelCompilerOptions& options, Urgency urgency)
      : options_(options), urgency_(urgency) {}
  ~KernelCompiler() { stop(); }
  KernelCompiler(const KernelCompiler&) = delete;
  KernelCompiler& operator=(const KernelCompiler&) = delete;

  // Returns a kernel's machine code as a relocatable object. It calls only functions of the C library and
  // contains no addresses, so a program with the same filters may keep it and load it later. `cancel` ends
  // the wait and the process.
  [[nodiscard]] std::expected<std::vector<std::byte>, CompileFailure>
  compile(const KernelSpec& spec, machine::Isa isa, const StoppableWait& cancel);

  [[nodiscard]] bool running() const { return process_.exists(); }
  // Kills the process and waits for it to exit.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Status start();
  [[nodiscard]] std::expected<Message, CompileFailure> receive(const StoppableWait& cancel,
                                                               Clock::time_point deadline);
  [[nodiscard]] std::expected<void, CompileFailure> start_and_greet(const StoppableWait& cancel,
                                                                    Clock::time_point deadline);
  // Describes how a process ended that closed its socket.
  [[nodiscard]] std::string end_of_process();

  const KernelCompilerOptions& options_;
  const Urgency urgency_;
  ChildProcess process_;
  Descriptor socket_;
  std::vector<std::byte> received_;
};

}  // namespace millrace::image
