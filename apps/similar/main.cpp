#include "millrace/base/error_line.h"
#include "millrace/base/ignore_write_signals.h"
#include "similar/command/index_command.h"
#include "similar/command/query_command.h"

#include <cstdio>

#include <fmt/format.h>

int main(int argc, char** argv) {
  using namespace millrace;
  ignore_write_signals();

  CLI::App app{"Finds images that look alike: index a folder once, then ask."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace-similar 0.1.0");
  similar::Action action;
  similar::add_index_command(app, action);
  similar::add_query_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_error(similar::program_name,
                        {ErrorKind::usage, fmt::format("{}; see millrace-similar --help", error.what())});
  }
  const Result<int> done = action();
  if (!done) return report_error(similar::program_name, done.error());
  return *done;
}
