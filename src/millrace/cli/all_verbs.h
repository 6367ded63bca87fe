// All verbs of `millrace`.
#pragma once

#include "millrace/cli/batch/batch_command.h"
#include "millrace/cli/bench/bench_command.h"
#include "millrace/cli/cluster/cluster_commands.h"
#include "millrace/cli/cluster/split_commands.h"
#include "millrace/cli/daemon/daemon_command.h"
#include "millrace/cli/exec/exec_command.h"
#include "millrace/cli/filters/filters_command.h"
#include "millrace/cli/machine/machine_command.h"
#include "millrace/cli/model/model_command.h"
#include "millrace/cli/profiles/profiles_command.h"
#include "millrace/cli/report/report_command.h"
#include "millrace/cli/run/run_command.h"
#include "millrace/cli/simulate/simulate_command.h"
#include "millrace/cli/study/study_command.h"
#include "millrace/version.h"

namespace millrace::cli {

inline void add_all_verbs(CLI::App& app, Action& action, const placement::IgnoredSignals& ignored_signals) {
  app.description(
      "Run filter pipelines on video, and other people's programs, as fast as this machine allows.");
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace " MILLRACE_VERSION, "Print the version");
  app.footer("# Find edges in a generated clip\nmillrace run @A test:640x480@100 -o edges.mp4\n"
             "# Print the options of a verb\nmillrace help run");
  add_run_command(app, action);
  add_batch_command(app, action);
  add_filters_command(app, action);
  add_cluster_commands(app, action);
  add_split_commands(app, action);
  add_exec_command(app, action, ignored_signals);
  add_daemon_commands(app, action);
  add_model_command(app, action);
  add_simulate_command(app, action);
  add_machine_command(app, action);
  add_profiles_command(app, action);
  add_report_command(app, action);
  add_bench_command(app, action);
  add_study_command(app, action);
}

}  // namespace millrace::cli
