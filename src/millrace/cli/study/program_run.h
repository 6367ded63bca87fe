// Runs a program for a study: pinned to CPUs, observed, and ended with this process.
//
// The program has its own process group. A signal to this process's group (Ctrl-C, timeout) therefore reaches
// only this process, which ends the program and knows the reason.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/thread/scheduling_attributes.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace millrace::cli {

// Finds a program of this project ("millrace-dedup"): in `folder` if that is given, else next to this program
// in a build or an installation, else by its name, which PATH resolves.
[[nodiscard]] std::string find_program(std::string_view name, const std::string& folder);

// Settings for running it.
struct ProgramSetup {
  machine::CpuSet cpus;                       // allowed CPUs; empty: those of this process
  machine::SchedulingChange scheduling;       // for its first thread; the others inherit it
  bool watch_waiting = false;                 // measure how long its threads wait for a CPU
  std::function<Status(pid_t)> before_start;  // called with its process before the process executes the
                                              // program
};

struct ProgramRun {
  double seconds = 0;  // from start to end
  std::string errors;  // its standard error
  double cpu_seconds = 0;
  std::int64_t switches = 0;  // context switches, voluntary and involuntary
  // Run-queue wait of all threads, sampled every 2 ms; a thread's wait after its last sample is missing.
  double waiting_seconds = 0;
};

// Runs the program and waits for its end. `words`: the program and its arguments. `scratch`: folder for its
// standard error; standard output is discarded. If it does not exit with 0, the failure names the program and
// has its last line. Usage error if the scheduling is not permitted. Interrupted after a stop, which also
// ends the program and its process group.
[[nodiscard]] Result<ProgramRun> run_program(const std::vector<std::string>& words, const ProgramSetup& setup,
                                             const std::filesystem::path& scratch,
                                             const Interrupt& interrupt);

// A folder that is removed with its contents.
class ScratchFolder {
 public:
  [[nodiscard]] static Result<ScratchFolder> make();
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace millrace::cli
