// The verbs run and batch: a program of its own, which loads what they need, as a short video is filtered in
// less time than the libraries of all verbs take to load.
#include "millrace/base/command_line.h"
#include "millrace/base/error_line.h"
#include "millrace/base/ignore_write_signals.h"
#include "millrace/base/run_guarded.h"
#include "millrace/base/thread_stacks.h"
#include "millrace/cli/batch/batch_command.h"
#include "millrace/cli/run/run_command.h"

#include <cstdlib>
#include <string_view>

namespace {

using namespace millrace;

int run_verb(int argc, char** argv) {
  ignore_write_signals();
  // libsvtav1 prints about every file it writes. Before there are threads.
  ::setenv("SVT_LOG", "0", 0);
  CLI::App app;
  app.require_subcommand(1);
  cli::Action action;
  // One of the two, where it is named: to list the other's options takes a fiftieth of a short run.
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb != "batch") cli::add_run_command(app, action);
  if (verb != "run") cli::add_batch_command(app, action);
  if (const auto end = read_command_line(app, argc, argv, "millrace", "millrace --help")) return *end;
  Status done = make_room_for_stacks();
  if (done) done = action();
  return done ? 0 : report_error("millrace", done.error());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded("millrace", [&] { return run_verb(argc, argv); });
}
