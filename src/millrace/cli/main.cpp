#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/process/thread_stacks.h"
#include "millrace/base/text/error_line.h"
#include "millrace/cli/all_verbs.h"

#include <cstdlib>

namespace {

using namespace millrace;

int run_program(int argc, char** argv) {
  const auto ignored_signals = placement::IgnoredSignals::now();
  ignore_write_signals();
  // Otherwise libsvtav1 prints messages for every file. Set before there are threads.
  ::setenv("SVT_LOG", "0", 0);

  CLI::App app;
  cli::Action action;
  cli::add_all_verbs(app, action, ignored_signals);
  if (const auto end = read_command_line(app, argc, argv, "millrace")) return *end;
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
