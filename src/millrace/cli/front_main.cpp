// The `millrace` program as it is called. It holds the verb exec, which must cost its user no time, and
// starts its companions for all others: millrace-daemon, which may run for months, for those of the daemon,
// and millrace-verbs, which loads the libraries of all that it can do.
#include "millrace/base/command_line.h"
#include "millrace/base/companion_program.h"
#include "millrace/base/error_line.h"
#include "millrace/base/ignore_write_signals.h"
#include "millrace/base/run_guarded.h"
#include "millrace/base/system_reason.h"
#include "millrace/cli/exec/exec_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/resource.h>

namespace {

using namespace millrace;

constexpr std::string_view daemon_verbs[] = {"daemon", "watch",   "unwatch", "status",
                                             "pause",  "explain", "top"};

int run_exec(int argc, char** argv) {
  const auto ignored_signals = placement::IgnoredSignals::now();
  ignore_write_signals();
  CLI::App app;
  app.name("millrace");
  cli::Action action;
  cli::add_exec_command(app, action, ignored_signals);
  if (const auto end = read_command_line(app, argc, argv, "millrace", "millrace exec --help")) return *end;
  const Status done = action();
  return done ? 0 : report_error("millrace", done.error());
}

// What the verbs take before anything is done. Without, the loader fails, with a line that says nothing of a
// limit.
constexpr rlim_t least_addresses = rlim_t{64} << 20;

int start(char** argv, std::string_view program) {
  const std::filesystem::path path = companion_program(program);
  execv(path.c_str(), argv);
  print_error("millrace",
              fmt::format("cannot start {}: {}; it is a part of millrace, as it is built and installed",
                          path.string(), system_reason(errno)));
  return 1;
}

int start_verbs(char** argv) {
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur < least_addresses) {
    print_error("millrace", fmt::format("{} MiB of address space are too few; raise the limit: ulimit -v {}",
                                        addresses.rlim_cur >> 20U, (6 * least_addresses) >> 10U));
    return 1;
  }
  return start(argv, "millrace-verbs");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc < 2 ? "" : argv[1];
  if (std::ranges::find(daemon_verbs, verb) != std::end(daemon_verbs)) return start(argv, "millrace-daemon");
  if (verb != "exec") return start_verbs(argv);
  return run_guarded("millrace", [&] { return run_exec(argc, argv); });
}
