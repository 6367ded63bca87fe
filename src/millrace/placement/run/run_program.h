// run_program: launches or joins a program, schedules its threads as requested, and restores what it changed.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/birth/ignored_signals.h"
#include "millrace/placement/policy/policy.h"
#include "millrace/placement/run/reports.h"
#include "millrace/placement/run/summary.h"
#include "millrace/placement/trials/plan_trials.h"
#include "millrace/tuning/profile/profile_store.h"

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// What a policy needs to know about the machine. Reading it delays the program's start.
enum class MasksNeed { nothing, topology, load };

[[nodiscard]] constexpr MasksNeed need_of(MaskPolicy masks) {
  switch (masks) {
  case MaskPolicy::none:
    return MasksNeed::nothing;
  case MaskPolicy::main_least_loaded:
    return MasksNeed::load;
  default:
    return MasksNeed::topology;
  }
}

struct RunSettings {
  std::vector<std::string> command;  // empty: attach
  std::optional<pid_t> attach;
  BirthWay birth = BirthWay::any;
  // A traced program that has made nothing for this long is polled from then on. Other tracers can then
  // attach, and programs that change their user can be started.
  std::int64_t hand_over_ns = 2'000'000'000;
  // A fixed policy. Empty: trials find the plan.
  std::optional<Policy> policy;
  std::string policy_name = "auto";
  MasksNeed masks = MasksNeed::topology;  // what that policy needs
  // Nice value of this process's threads while they follow the program, which keeps its own. Empty:
  // unchanged.
  std::optional<int> own_nice;
  // For every thread to which the policy gives none.
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  UnitsMode units = UnitsMode::off;
  // Called once with the program's first process, if `units` is automatic and no policy is fixed. Returns
  // true if another process, such as a daemon, keeps its threads apart from those of other programs. The
  // program then gets no plan. Must be fast; may be empty.
  std::function<bool(pid_t)> announce;
  ProgressSettings progress;
  TrialOptions trials;
  // The store for what the automatic policy learns. Null: nothing is kept.
  tuning::ProfileStore* profiles = nullptr;
  // If the program cannot be followed, for example because no process can be made, this process becomes the
  // program.
  bool become_program = true;
  // As the process inherited them.
  sigset_t blocked_signals{};
  IgnoredSignals ignored_signals;
};

// Runs until the program ends or, if attached, until SIGINT, SIGTERM or SIGHUP. The program's signals,
// streams, terminal and exit status are as without millrace: signals to this process are passed on, and a
// stop by the terminal stops this process as well. Call this while the process is single-threaded. No other
// code may wait for SIGCHLD or the signals that are passed on.
//
// All changes are undone before it returns, or by a guardian if this process is killed. This process keeps
// `own_nice`, because not every system lets it be taken back.
//
// Fails if the program could not be executed or joined at all; returns a usage error if the request is
// impossible. A failing program is not a failure: see Summary::status.
[[nodiscard]] Result<Summary> run_program(const RunSettings& settings);

}  // namespace millrace::placement
