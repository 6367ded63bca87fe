// The verbs run and batch, as a separate program with their libraries only. Filtering a short video takes
// less time than loading the libraries of all verbs.
#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/process/thread_stacks.h"
#include "millrace/base/text/error_line.h"
#include "millrace/cli/batch/batch_command.h"
#include "millrace/cli/run/run_command.h"

#include <cstdlib>
#include <string_view>

namespace {

using namespace millrace;

int run_verb(int argc, char** argv) {
  ignore_write_signals();
  // Otherwise libsvtav1 prints messages for every file. Set before there are threads.
  ::setenv("SVT_LOG", "0", 0);
  CLI::App app;
  app.require_subcommand(1);
  cli::Action action;
  // Add only the verb that was given: listing the other's options takes 2 % of a short run.
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb != "batch") cli::add_run_command(app, action);
  if (verb != "run") cli::add_batch_command(app, action);
  if (const auto end = read_command_line(app, argc, argv, "millrace")) return *end;
  Status done = make_room_for_stacks();
  if (done) done = action();
  return done ? 0 : report_error("millrace", done.error());
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded("millrace", [&] { return run_verb(argc, argv); });
}
