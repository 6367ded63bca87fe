// The verbs of the daemon, as a separate program that `millrace` starts: a process that runs for months
// should not keep FFmpeg in memory.
#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/text/error_line.h"
#include "millrace/cli/daemon/daemon_command.h"

namespace {

using namespace millrace;

int run_verb(int argc, char** argv) {
  ignore_write_signals();
  CLI::App app;
  app.name("millrace");
  app.require_subcommand(1);
  cli::Action action;
  cli::add_daemon_commands(app, action);
  if (const auto end = read_command_line(app, argc, argv, "millrace")) return *end;
  const Status done = action();
  return done ? 0 : report_error("millrace", done.error());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded("millrace", [&] { return run_verb(argc, argv); });
}
