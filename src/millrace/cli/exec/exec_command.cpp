#include "millrace/cli/exec/exec_command.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/exec/exec_options.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/daemon/daemon_client.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/run/learn.h"
#include "millrace/placement/run/run_program.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace::cli {
namespace {

// Ends this process like the program: with its exit code, or by the same signal but without a second core
// dump.
[[noreturn]] void end_as(int status) {
  std::fflush(nullptr);
  if (WIFSIGNALED(status)) {
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(WTERMSIG(status), SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
    std::raise(WTERMSIG(status));
  }
  std::exit(placement::shell_code(status));
}

// A program that could not know that its output was lost has not succeeded. A lost message is no failure.
int status_of(const placement::Summary& summary) {
  constexpr int failed = W_EXITCODE(1, 0);
  return summary.output_lost && summary.status == 0 ? failed : summary.status;
}

// Runs the program and returns its wait status.
Result<int> run(const placement::RunSettings& settings, const ExecOptions& options) {
  const auto summary = placement::run_program(settings);
  if (!summary) return std::unexpected(summary.error());
  if (!options.quiet) print_note("{}", placement::to_text(*summary));
  if (!options.json.empty())
    if (const auto written =
            write_json(placement::to_json(*summary), options.json, overwrite_if(options.force));
        !written)
      print_error("millrace", written.error().message);
  if (!summary->loss.empty()) print_error("millrace", summary->loss);
  return status_of(*summary);
}

double percent(double log_ratio) { return 100 * (std::exp(log_ratio) - 1); }

Status learn(const placement::RunSettings& settings, const ExecOptions& options) {
  const auto report = placement::learn_program(
      settings, *options.learn, [&options](const placement::Plan& plan, double seconds, bool beside_others) {
        if (!options.quiet)
          print_note("{:8.3f} s  {}{}\n", seconds, to_string(plan),
                     beside_others ? "  (ignored: other programs took the CPUs)" : "");
      });
  if (!report) return std::unexpected(report.error());
  if (options.quiet) return {};
  const auto print = [](const std::vector<double>& log_ratios, const std::string& what) {
    const auto gain = placement::estimate_gain(log_ratios, Confidence::p95);
    if (gain.pairs > 1)
      print_note("{:+8.1f} % ({:+.1f} to {:+.1f}, {} pairs)  {}\n", percent(gain.mean), percent(gain.low),
                 percent(gain.high), gain.pairs, what);
  };
  for (const auto& plan : report->left_out)
    print_note("left out, because it would change nothing: {}\n", to_string(plan));
  if (!report->candidates.empty()) print_note("after {} runs, speed relative to untouched:\n", report->runs);
  for (const auto& candidate : report->candidates)
    print(candidate.log_ratios, to_string(candidate.plan));
  if (placement::disturbed(report->runs, report->beside_others))
    print_note("learnt: nothing, because other programs took the CPUs before {} of {} runs\n",
               report->beside_others, report->runs);
  else
    print_note("learnt: {}\n", to_string(report->plan));
  return {};
}

// Whether a daemon of this user or of the system now places the program's threads.
bool announced(pid_t process) {
  constexpr std::chrono::milliseconds patience(200);  // the program is already running, so do not wait long
  const Descriptor descriptor = placement::open_process(process);
  auto daemon = placement::DaemonClient::connect("", patience);
  if (!descriptor.is_open() || !daemon) return false;
  const auto reply = daemon->ask("Announce", {{"pid", process}}, descriptor);
  return reply && reply->contains("acts") && (*reply)["acts"] == true;
}

// The summary must not replace what the program or this process reads or writes.
Status check_json(const ExecOptions& options) {
  constexpr std::string_view rules = "rules=";
  std::string policy = options.policy.value_or("");
  if (policy.starts_with(rules)) policy.erase(0, rules.size());
  std::vector<NamedPath> used{{"the file of --policy", policy},
                              {"the program's standard input", "/proc/self/fd/0"},
                              {"the program's standard output", "/proc/self/fd/1"},
                              {"the program's standard error", "/proc/self/fd/2"}};
  const auto name_of = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  for (const std::string& word : options.command)
    if (name_of(word) == name_of(options.json)) used.push_back({"a word of the program's command", word});
  return check_outputs({{"--json", options.json}}, overwrite_if(options.force), used);
}

// Wait status of the program; nullopt if a running process was observed.
Result<std::optional<int>> execute(const ExecOptions& options) {
  // A broken pipe or a file size limit must not end this process. The program inherits the original handling
  // (see ExecOptions::ignored_signals).
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // First of all: a request may be refused because of a mask that a killed run has left behind, and such a
  // mask may be this process's own.
  placement::restore_left_behind();
  if (Status checked = check_json(options); !checked) return std::unexpected(checked.error());
  auto settings = to_settings(options);
  if (!settings) return std::unexpected(settings.error());
  tuning::ProfileStore store;
  if (options.profiles && !settings->policy) {
    const auto path = tuning::default_profile_path();
    if (path) {
      // Do not delay the start of the program. After minutes of learning, waiting some seconds is worthwhile.
      store = tuning::ProfileStore::open(*path, {.patience_ms = options.learn ? 5000 : 50});
      settings->profiles = &store;
    }
  }
  settings->announce = announced;
  std::string warned;
  const auto warn = [&] {
    if (store.warning() != warned && !options.quiet) print_error("millrace", store.warning());
    warned = store.warning();
  };
  // Results of minutes of learning must be saved.
  if (options.learn && settings->profiles != nullptr) {
    if (Status whole = store.ensure_whole(); !whole) return std::unexpected(whole.error());
  }
  warn();
  if (!options.learn) {
    auto ended = run(*settings, options);
    warn();
    return ended;
  }
  const Status learnt = learn(*settings, options);
  warn();
  if (!learnt) return std::unexpected(learnt.error());
  return std::nullopt;
}

}  // namespace

void add_exec_command(CLI::App& app, Action& action, const placement::IgnoredSignals& ignored_signals) {
  auto options = std::make_shared<ExecOptions>();
  options->ignored_signals = ignored_signals;
  CLI::App* verb =
      app.add_subcommand("exec", "Run a program and place its threads on the CPUs that suit them");
  verb->group(verb_group::programs);
  add_options(*verb, *options);
  verb->callback([&action, options] {
    action = [options]() -> Status {
      const auto ended = execute(*options);
      if (!ended) return std::unexpected(ended.error());
      if (*ended) end_as(**ended);  // everything that execute() created is destroyed
      return {};
    };
  });
}

}  // namespace millrace::cli
