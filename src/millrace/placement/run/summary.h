// Summary: what a run did and what came of it.
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

// Rates while the program was untouched or a plan was in force.
struct Phase {
  double seconds = 0;
  RunTimes times;
  std::int64_t migrations = 0;
  std::optional<WakeUps> wake_ups;  // of a part of that time
  std::optional<Wakers> wakers;     // likewise, where this user may see it
};

struct Summary {
  bool began = true;  // false: the program could not be executed, which was said on standard error
  int status = 0;     // as waitpid gives it; 0 after attaching
  std::string program;
  double seconds = 0;
  double cpu_seconds = 0;  // user and system, of the program and its descendants
  double startup_ms = 0;   // from the call to the program's first instruction
  BirthWay birth = BirthWay::none;
  std::string birth_reason;  // why not a better way; "" where it is the best
  std::string policy;
  std::optional<int> own_nice;  // of millrace's threads, as it was read back, where one was asked for
  RegisterCounts threads;
  Restored restored;
  std::optional<ProgressSource> progress;
  bool unjudged = false;  // nothing told of progress, so no plan was tried
  std::vector<TrialEvent> events;
  Plan plan;            // in force at the end, under the automatic policy
  bool learnt = false;  // that plan is a finding of this run
  std::optional<GainEstimate> gain;
  Phase untouched;
  Phase changed;
  UnitFindings units;
  int asked_to_end_by = 0;  // a signal, not the program's own, for which it may have ended early; 0: none
  std::int64_t voluntary_switches = 0;
  std::int64_t involuntary_switches = 0;
  std::vector<std::string> notes;  // what a user should know
};

// The code with which a shell ends after a program of this status: its own, or 128 and the signal's number.
[[nodiscard]] int shell_code(int status);

// Some lines for a person, fit for a terminal whatever the program calls itself and its threads; "" for a
// program that never began.
[[nodiscard]] std::string to_text(const Summary& summary);
[[nodiscard]] nlohmann::json to_json(const Summary& summary);

}  // namespace millrace::placement
