// Runs a program for a study: bound to CPUs, watched, and ended with this process.
//
// It has a process group of its own, so that a signal to this process's group (Ctrl-C, timeout) reaches this
// process alone, which ends it and knows why it ended.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/base/result.h"
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

// A program of this project that users call ("millrace-dedup"): in `folder` where that is given, else beside
// this program, where a build or an installation puts it, else by its name alone, which PATH decides.
[[nodiscard]] std::string find_program(std::string_view name, const std::string& folder);

// How it is run.
struct ProgramSetup {
  machine::CpuSet cpus;                       // those that it may use; empty: all that this process may
  machine::SchedulingChange scheduling;       // of its first thread, from which the others inherit
  bool watch_waiting = false;                 // look at how long its threads wait for a CPU
  std::function<Status(pid_t)> before_start;  // called with its process, which waits to become the program
};

struct ProgramRun {
  double seconds = 0;  // from its start to its end
  std::string errors;  // what it wrote to standard error
  double cpu_seconds = 0;
  std::int64_t switches = 0;  // of context, voluntary and not
  // Of all its threads, on run queues, as far as the last look at each, every 2 ms, has seen it.
  double waiting_seconds = 0;
};

// Waits for its end. `words`: the program and its arguments. `scratch`: a folder for what it writes to
// standard error; standard output goes nowhere. Failure that names the program with the last line it wrote
// where it does not end with 0; usage error where the scheduling is not permitted; interrupted after a stop,
// by which it and what it has made in its group are ended too.
[[nodiscard]] Result<ProgramRun> run_program(const std::vector<std::string>& words, const ProgramSetup& setup,
                                             const std::filesystem::path& scratch,
                                             const Interrupt& interrupt);

// A folder that goes with its contents.
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
