// Summary: what a run did, and its results.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/run/birth_way.h"
#include "millrace/placement/run/unit_watch.h"
#include "millrace/placement/run/wake_up_trace.h"
#include "millrace/placement/run/wake_ups.h"
#include "millrace/placement/task/task_files.h"
#include "millrace/placement/trials/plan_trials.h"
#include "millrace/placement/trials/progress.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// Rates while the program was untouched, or while a plan was in force.
struct Phase {
  double seconds = 0;
  RunTimes times;
  std::int64_t migrations = 0;
  std::optional<WakeUps> wake_ups;  // for part of that time
  std::optional<Wakers> wakers;     // for part of that time, if this user may see it
};

struct Summary {
  bool began = true;         // false: the program could not be executed; standard error already says so
  int status = 0;            // as from waitpid(); 0 after attaching
  bool output_lost = false;  // some of the program's standard output could not be passed on
  std::string loss;          // why some of its output or its messages could not be passed on; "" if all were
  std::string program;
  double seconds = 0;
  double cpu_seconds = 0;  // user and system time of the program and its descendants
  double startup_ms = 0;   // from the call to the program's first instruction
  BirthWay birth = BirthWay::none;
  std::string birth_reason;  // why a better way was not used; "" if it is the best
  std::string policy;
  // As requested for threads to which the policy gives none.
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  std::optional<int> own_nice;  // nice value of millrace's threads, as read back, if one was requested
  RegisterCounts threads;
  Restored restored;
  std::optional<ProgressSource> progress;
  bool unjudged = false;  // nothing measured progress, so no plan was tried
  std::vector<TrialEvent> events;
  Plan plan;            // in force at the end, under the automatic policy
  bool learnt = false;  // this run found that plan
  std::optional<GainEstimate> gain;
  Phase untouched;
  Phase changed;
  UnitFindings units;
  int asked_to_end_by = 0;  // a signal from outside that may have ended the program early; 0: none
  std::int64_t voluntary_switches = 0;
  std::int64_t involuntary_switches = 0;
  std::vector<std::string> notes;  // information for the user
};

// The exit code of a shell for a program with this status: its own, or 128 plus the signal's number.
[[nodiscard]] int shell_code(int status);

// Some lines for a person. They are safe for a terminal, whatever names the program and its threads have. ""
// for a program that never began.
[[nodiscard]] std::string to_text(const Summary& summary);
[[nodiscard]] nlohmann::json to_json(const Summary& summary);

}  // namespace millrace::placement
