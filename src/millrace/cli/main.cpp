#include "millrace/base/error_line.h"
#include "millrace/base/ignore_write_signals.h"
#include "millrace/cli/bench/bench_command.h"
#include "millrace/cli/exec/exec_command.h"
#include "millrace/cli/filters/filters_command.h"
#include "millrace/cli/machine/machine_command.h"
#include "millrace/cli/model/model_command.h"
#include "millrace/cli/profiles/profiles_command.h"
#include "millrace/cli/run/run_command.h"
#include "millrace/cli/simulate/simulate_command.h"

#include <cstdio>

#include <fmt/format.h>

namespace {

using namespace millrace;

int run_program(int argc, char** argv) {
  const auto ignored_signals = placement::IgnoredSignals::now();
  ignore_write_signals();

  CLI::App app{
      "Runs filter pipelines on video, and other people's programs, as fast as this machine allows."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace 0.1.0");
  cli::Action action;
  cli::add_run_command(app, action);
  cli::add_exec_command(app, action, ignored_signals);
  cli::add_machine_command(app, action);
  cli::add_filters_command(app, action);
  cli::add_profiles_command(app, action);
  cli::add_model_command(app, action);
  cli::add_simulate_command(app, action);
  cli::add_bench_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_error("millrace", {ErrorKind::usage, fmt::format("{}; see millrace --help", error.what())});
  }
  const Status done = action();
  if (!done) return report_error("millrace", done.error());
  if (std::fflush(stdout) != 0) {
    print_error("millrace", "standard output cannot be written");
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv); }
