#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/text/error_line.h"
#include "millrace/version.h"
#include "similar/command/index_command.h"
#include "similar/command/query_command.h"

#include <fmt/format.h>

namespace {

using namespace millrace;

int run_program(int argc, char** argv) {
  ignore_write_signals();

  CLI::App app{"Find images that look alike: index a folder once, then query."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace-similar " MILLRACE_VERSION, "Print the version");
  app.footer("# Index a folder, and find the images that are most like one\nmillrace-similar index photos\n"
             "millrace-similar query a.jpg");
  similar::Action action;
  similar::add_index_command(app, action);
  similar::add_query_command(app, action);
  if (const auto end = read_command_line(app, argc, argv, similar::program_name)) return *end;
  const Result<int> done = action();
  if (!done) return report_error(similar::program_name, done.error());
  return *done;
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded(similar::program_name, [&] { return run_program(argc, argv); });
}
