#include "millrace/cli/daemon/daemon_command.h"

#include "millrace/base/options/json_output.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/cli/daemon/daemon_metrics.h"
#include "millrace/cli/daemon/top_screen.h"
#include "millrace/placement/apply/state_folder.h"
#include "millrace/placement/daemon/daemon_client.h"
#include "millrace/placement/daemon/daemon_view.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/daemon/reply_members.h"
#include "millrace/placement/daemon/run_daemon.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using nlohmann::json;
using placement::DaemonClient;

struct DaemonOptions {
  bool user = false;
  std::string config;
  std::string socket;
};

Status run(const DaemonOptions& options) {
  const bool of_user = options.user || geteuid() != 0;
  if (!options.user && geteuid() != 0)
    return usage_error(
        "the daemon of the whole machine needs root; for your own programs run 'millrace daemon --user'");
  // Missing hwloc information is reported once, in our own words.
  setenv("HWLOC_HIDE_ERRORS", "2", 0);  // NOLINT(concurrency-mt-unsafe): there is one thread
  placement::DaemonRun run;
  auto settings = placement::read_daemon_settings(
      options.config.empty() ? placement::usual_daemon_settings(of_user) : options.config,
      !options.config.empty());
  if (!settings) return std::unexpected(settings.error());
  run.daemon.settings = std::move(*settings);
  // The folder contains the socket, so it must live as long as the daemon.
  auto folder = placement::StateFolder::of_this_user();
  if (folder)
    run.daemon.state = folder->path();
  else
    run.daemon.state = std::unexpected(folder.error());
  auto socket = options.socket.empty() ? placement::daemon_socket(of_user) : options.socket;
  if (!socket) return std::unexpected(socket.error());
  run.socket = std::move(*socket);
  run.for_all = !of_user;
  std::optional<MetricsExposer> metrics;
  if (!run.daemon.settings.metrics.empty()) {
    // Create the server's threads only at the first report: the guardian must start before them.
    run.observed = [&metrics, where = run.daemon.settings.metrics](const json& status) {
      if (!metrics) metrics.emplace(where);
      metrics->publish(status);
    };
  }
  run.tell = [](const std::string& line) { print_error("millrace daemon", line); };
  return placement::run_daemon(std::move(run));
}

// The user's target: a process, a control group, or every process that executes a file.
struct TargetOptions {
  std::optional<pid_t> process;
  std::string cgroup;
  std::string exe;
  std::string socket;
  bool resume = false;
};

Result<json> parameters_of(const TargetOptions& options, bool needed) {
  const int said =
      (options.process ? 1 : 0) + (options.cgroup.empty() ? 0 : 1) + (options.exe.empty() ? 0 : 1);
  if (said > 1 || (needed && said == 0))
    return usage_error("give one of PID, --cgroup PATH and --exe PATTERN");
  // The daemon requires printable text: requests are JSON, and parts of replies are printed on a terminal.
  for (const auto& [option, text] : {std::pair("--cgroup", &options.cgroup), {"--exe", &options.exe}})
    if (printable(*text) != *text)
      return usage_error("{}: {} is not UTF-8 without control characters; correct it{}", option,
                         in_quotes(*text), text == &options.exe ? "; ? stands for any byte" : "");
  json parameters = json::object();
  if (options.process) parameters["pid"] = *options.process;
  if (!options.cgroup.empty()) parameters["cgroup"] = options.cgroup;
  if (!options.exe.empty()) parameters["exe"] = options.exe;
  return parameters;
}

Status watch(const TargetOptions& options) {
  const auto parameters = parameters_of(options, true);
  if (!parameters) return std::unexpected(parameters.error());
  Descriptor process;
  if (options.process) {
    process = placement::open_process(*options.process);
    if (!process.is_open())
      return usage_error("there is no process {}; see 'ps' for those that run", *options.process);
  }
  auto client = DaemonClient::connect(options.socket);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->ask("Watch", *parameters, process);
  if (!reply) return std::unexpected(reply.error());
  if (reply->contains("rule"))
    print_out("watching every program that matches {}\n", printable(options.exe));
  else
    print_out("watching {}; {}\n", placement::text_of(*reply, "name"),
              placement::flag_of(*reply, "acts") ? "its threads are placed if that makes it faster"
                                                 : "it is only observed");
  return {};
}

Status unwatch(const TargetOptions& options) {
  const auto parameters = parameters_of(options, true);
  if (!parameters) return std::unexpected(parameters.error());
  auto client = DaemonClient::connect(options.socket);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->ask("Unwatch", *parameters);
  if (!reply) return std::unexpected(reply.error());
  print_out("no longer watched; its threads are as before\n");
  return {};
}

Status pause(const TargetOptions& options) {
  auto parameters = parameters_of(options, false);
  if (!parameters) return std::unexpected(parameters.error());
  (*parameters)["resume"] = options.resume;
  auto client = DaemonClient::connect(options.socket);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->ask("Pause", *parameters);
  if (!reply) return std::unexpected(reply.error());
  print_out("{}\n", options.resume ? "resumed" : "paused; threads are as before, and are still observed");
  return {};
}

struct ViewOptions {
  std::string socket;
  std::string program;
  JsonOutput json;
  bool as_metrics = false;
  bool once = false;
  double seconds = 1;
};

Status show(std::string_view method, const json& parameters, const ViewOptions& options,
            std::vector<placement::ViewLine> (*view)(const json&)) {
  auto client = DaemonClient::connect(options.socket);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->ask(method, parameters);
  if (!reply) return std::unexpected(reply.error());
  if (options.json.wanted()) return options.json.write(*reply);
  if (options.as_metrics)
    print_out("{}", metrics_text(*reply));
  else
    print_out("{}", placement::to_text(view(*reply)));
  return {};
}

Status top(const ViewOptions& options) {
  constexpr double shortest_s = 0.1;
  constexpr double longest_s = 3600;
  if (!(options.seconds >= shortest_s && options.seconds <= longest_s))
    return usage_error("--every: {} is out of range; give {} to {}", options.seconds, shortest_s, longest_s);
  if (!options.once && isatty(STDOUT_FILENO) == 1) return show_top(options.socket, options.seconds);
  return show("Status", {{"threads", true}}, options, [](const json& status) {
    constexpr std::size_t width = 120;
    return placement::top_view(status, width);
  });
}

void add_socket(CLI::App& verb, std::string& socket) {
  verb.add_option("--socket", socket, "Socket of the daemon")
      ->option_text("FILE")
      ->default_str("the user's daemon, else the system's");
}

void add_target(CLI::App& verb, TargetOptions& options) {
  verb.add_option("pid", options.process, "Process, with all that it starts");
  verb.add_option("--cgroup", options.cgroup, "All processes of a control group and of those below it")
      ->option_text("PATH");
  verb.add_option("--exe", options.exe, "Programs, now and later, whose path matches, such as '*/x264'")
      ->option_text("PATTERN");
  add_socket(verb, options.socket);
}

}  // namespace

void add_daemon_commands(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DaemonOptions>();
  CLI::App* verb = app.add_subcommand(
      "daemon", "Watch running programs and separate threads that compete for execution units");
  verb->group(verb_group::programs);
  verb->add_flag("--user", options->user, "Watch programs of this user only; needs no root");
  verb->add_option("--config", options->config, "Settings")
      ->option_text("FILE")
      ->default_str("/etc/millrace/daemon.toml; with --user ~/.config/millrace/daemon.toml");
  verb->add_option("--socket", options->socket, "Socket to listen on")
      ->option_text("FILE")
      ->default_str("in the runtime folder");
  verb->callback([&action, options] { action = [options] { return run(*options); }; });
  verb->footer("# Watch programs of this user\nmillrace daemon --user");

  const auto target_verb = [&](const char* name, const char* help, Status (*act)(const TargetOptions&)) {
    const auto target = std::make_shared<TargetOptions>();
    CLI::App* added = app.add_subcommand(name, help);
    added->group(verb_group::programs);
    add_target(*added, *target);
    added->callback([&action, target, act] { action = [target, act] { return act(*target); }; });
    return std::pair(added, target);
  };
  target_verb("watch", "Let the daemon watch a program", watch)
      .first->footer("# Watch every x264, now and later\nmillrace watch --exe '*/x264'");
  target_verb("unwatch", "Let the daemon forget a program", unwatch)
      .first->footer("# Forget the process 4711\nmillrace unwatch 4711");
  const auto [pausing, pause_target] =
      target_verb("pause", "Stop placing the threads of a program, or of all, until --resume", pause);
  pausing->add_flag("--resume", pause_target->resume, "Place threads again");
  pausing->footer("# Leave all threads where they are\nmillrace pause");

  const auto view = std::make_shared<ViewOptions>();
  CLI::App* status = app.add_subcommand("status", "Print what the daemon watches");
  CLI::App* explain = app.add_subcommand(
      "explain", "Print what the daemon knows about a program, and the reasons of its decisions");
  CLI::App* on_top =
      app.add_subcommand("top", "Show programs, their threads and what they use, continuously");
  explain->add_option("program", view->program, "PID, name or control group of the program")
      ->option_text("NAME")
      ->required();
  on_top->add_flag("--once", view->once, "Print the table once as text");
  on_top->add_option("--every", view->seconds, "Seconds between updates")
      ->check(between(0.1, 3600.0))
      ->default_str("1");
  for (CLI::App* viewing : {status, explain, on_top}) {
    viewing->group(verb_group::programs);
    add_socket(*viewing, view->socket);
  }
  for (CLI::App* viewing : {status, explain})
    add_json_output(*viewing, view->json);
  status->add_flag("--metrics", view->as_metrics, "Print metrics in the text format of Prometheus");
  status->footer("# Print all watched programs\nmillrace status");
  explain->footer("# Print what the daemon knows about x264\nmillrace explain x264");
  on_top->footer("# Print the table once\nmillrace top --once");
  status->callback([&action, view] {
    action = [view] {
      return show("Status", {{"threads", view->json.wanted()}}, *view, placement::status_view);
    };
  });
  explain->callback([&action, view] {
    action = [view] { return show("Explain", {{"program", view->program}}, *view, placement::explain_view); };
  });
  on_top->callback([&action, view] { action = [view] { return top(*view); }; });
}

}  // namespace millrace::cli
