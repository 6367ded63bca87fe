// The verb exec, as a separate program with few libraries, so that it starts without noticeable delay.
#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/text/error_line.h"
#include "millrace/cli/exec/exec_command.h"

#include <malloc.h>

namespace {

using namespace millrace;

int run_exec(int argc, char** argv) {
  // Its threads allocate little, and each memory arena of their own would take some ten system calls and page
  // faults.
  mallopt(M_ARENA_MAX, 1);
  const auto ignored_signals = placement::IgnoredSignals::now();
  ignore_write_signals();
  CLI::App app;
  app.name("millrace");
  app.require_subcommand(1);
  cli::Action action;
  cli::add_exec_command(app, action, ignored_signals);
  if (const auto end = read_command_line(app, argc, argv, "millrace")) return *end;
  const Status done = action();
  return done ? 0 : report_error("millrace", done.error());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded("millrace", [&] { return run_exec(argc, argv); });
}
