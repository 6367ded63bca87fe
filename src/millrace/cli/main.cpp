#include "millrace/base/command_line.h"
#include "millrace/base/error_line.h"
#include "millrace/base/ignore_write_signals.h"
#include "millrace/base/run_guarded.h"
#include "millrace/base/thread_stacks.h"
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

#include <cstdlib>

#include <fmt/format.h>

namespace {

using namespace millrace;

int run_program(int argc, char** argv) {
  const auto ignored_signals = placement::IgnoredSignals::now();
  ignore_write_signals();
  // Otherwise libsvtav1 prints messages for every file. Set before there are threads.
  ::setenv("SVT_LOG", "0", 0);

  CLI::App app{
      "Runs filter pipelines on video, and other people's programs, as fast as this machine allows."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace " MILLRACE_VERSION);
  cli::Action action;
  cli::add_run_command(app, action);
  cli::add_batch_command(app, action);
  cli::add_cluster_commands(app, action);
  cli::add_split_commands(app, action);
  cli::add_exec_command(app, action, ignored_signals);
  cli::add_daemon_commands(app, action);
  cli::add_machine_command(app, action);
  cli::add_filters_command(app, action);
  cli::add_profiles_command(app, action);
  cli::add_model_command(app, action);
  cli::add_simulate_command(app, action);
  cli::add_bench_command(app, action);
  cli::add_study_command(app, action);
  cli::add_report_command(app, action);
  if (const auto end = read_command_line(app, argc, argv, "millrace", "millrace --help")) return *end;
  // `exec` must not change the limits of the programs that it runs.
  const bool runs_others = app.got_subcommand("exec");
  Status done = runs_others ? Status() : make_room_for_stacks();
  if (done) done = action();
  return done ? 0 : report_error("millrace", done.error());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded("millrace", [&] { return run_program(argc, argv); });
}
