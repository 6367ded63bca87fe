// Helpers for tests of the daemon: work to watch, and a machine on which it is moved.
#pragma once

#include "millrace/base/file/system_file.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/daemon/daemon_settings.h"

#include <filesystem>
#include <thread>
#include <unistd.h>

namespace millrace::placement {

// Uses floating-point units for some milliseconds.
inline void compute_floats() {
  volatile double x = 1;
  for (int i = 0; i < 1000000; ++i)
    x = x * 1.0000001 + x * 0.0000001 - x / 3;
}

// The same, in a process with two threads. Such a thread is placed sooner than a lone one, whose process may
// yet make others.
inline void compute_floats_beside_another() {
  static const bool once = [] {
    std::thread([] { pause(); }).detach();
    return true;
  }();
  static_cast<void>(once);
  compute_floats();
}

// Two cores, each with one CPU that this process may use. By the rule of the WorkOver paper, the thread that
// uses floating point most is pinned to one of them. Needs two CPUs.
inline machine::Topology two_cores() {
  const machine::CpuSet allowed = machine::current_thread_affinity().value();
  const int first = allowed.lowest();
  const int second = (allowed - machine::CpuSet{first}).lowest();
  return machine::Topology(
      {.cores = {{first}, {second}}, .core_kinds = {}, .architecture = "x86_64", .hypervisor = {}});
}

// True if the folder is empty, or was removed because it was.
inline bool is_left_empty(const std::filesystem::path& folder) {
  std::error_code error;
  return !std::filesystem::exists(folder, error) || std::filesystem::is_empty(folder, error);
}

// The number of processes in the journals of the folder.
inline std::size_t processes_told_of(const std::filesystem::path& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error))
    if (file->path().extension() == ".journal")
      count += parse_journal(read_system_file(file->path().string()).value_or("")).processes.size();
  return count;
}

inline DaemonSettings acting_at_once() {
  DaemonSettings settings;
  settings.act = true;
  settings.rule = DaemonSettings::Rule::workover;
  settings.judge = false;
  settings.budget_percent = 100;
  return settings;
}

}  // namespace millrace::placement
