// run_program: launches or joins a program, keeps its threads as asked, and gives back what it changed.
#pragma once

#include "millrace/base/result.h"
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

// What a policy wants to know of the machine: reading it delays the program's start.
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
  // A traced program that has made nothing for so long is polled from then on, so that others may trace it,
  // and programs that change their user be started.
  std::int64_t hand_over_ns = 2'000'000'000;
  // What is asked for: a policy that is fixed; nothing: trials find the plan.
  std::optional<Policy> policy;
  std::string policy_name = "auto";
  MasksNeed masks = MasksNeed::topology;  // of that policy
  // The nice value that this process's threads have while they follow the program, which keeps its own;
  // nothing: as they were started.
  std::optional<int> own_nice;
  // Given to every thread whose policy gives none.
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  UnitsMode units = UnitsMode::off;
  // Asked once, with the program's first process, where `units` is automatic and no policy is fixed: whether
  // somebody else keeps its threads apart from those of other programs. It then gets no plan. Must not take
  // long; may be empty.
  std::function<bool(pid_t)> announce;
  ProgressSettings progress;
  TrialOptions trials;
  // What was learnt earlier and what will be learnt, by the automatic policy. Null: nothing is kept.
  tuning::ProfileStore* profiles = nullptr;
  // Where the program cannot be followed, as where no process may be made any more, this process becomes it.
  bool become_program = true;
  // As the process had them before it changed anything.
  sigset_t blocked_signals{};
  IgnoredSignals ignored_signals;
};

// Runs until the program ends, or, attached, until SIGINT, SIGTERM or SIGHUP. Its signals, streams, terminal
// and exit status are what they would be without: signals sent to this process are passed on, a stop by the
// terminal stops this process as well. To be called while this process has one thread only; SIGCHLD and the
// signals that are passed on must not be waited for elsewhere.
//
// What was changed is given back before it returns, and, should this process be killed, by a guardian.
//
// This process keeps `own_nice`, as that cannot be taken back everywhere.
//
// Failure when the program could not be executed or joined at all; usage error where what is asked for is
// impossible. A program that fails is no failure: see Summary::status.
[[nodiscard]] Result<Summary> run_program(const RunSettings& settings);

}  // namespace millrace::placement
