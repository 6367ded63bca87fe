#include "millrace/cli/exec/exec_options.h"

#include "millrace/base/overwrite.h"
#include "millrace/base/parse_number.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/policy/plug_in.h"
#include "millrace/placement/policy/rule_file.h"
#include "millrace/placement/run/own_priority.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <string_view>

namespace millrace::cli {
namespace {

using placement::MasksNeed;
using placement::RunSettings;

constexpr std::string_view list_prefix = "cpus=";
constexpr std::string_view rules_prefix = "rules=";

// CPUs that the program may use.
Result<machine::CpuSet> allowed_cpus(const RunSettings& settings) {
  auto allowed =
      settings.attach ? machine::thread_affinity(*settings.attach) : machine::current_thread_affinity();
  if (!allowed) return usage_error("--attach: {}", allowed.error().message);
  return allowed;
}

std::unexpected<Error> not_allowed(std::string_view option, const machine::CpuSet& asked,
                                   const machine::CpuSet& allowed) {
  return usage_error("{}: the program may not use CPU {}, only {}", option, (asked - allowed).to_string(),
                     allowed.to_string());
}

// "0-3" or "0;1;2-3"; allowed: the CPUs that the program may use.
Result<placement::Policy> parse_cpu_lists(std::string_view text, const machine::CpuSet& allowed) {
  std::vector<machine::CpuSet> lists;
  while (true) {
    const std::string_view part = text.substr(0, text.find(';'));
    auto list = machine::CpuSet::parse(part);
    if (!list || list->empty())
      return usage_error("--policy cpus=: '{}' is not a list of CPUs such as 0-3,8; separate the lists of "
                         "different threads by ';'",
                         part);
    if (!allowed.contains_all(*list)) return not_allowed("--policy cpus=", *list, allowed);
    lists.push_back(std::move(*list));
    if (part.size() == text.size()) return placement::cpu_list_policy(std::move(lists));
    text.remove_prefix(part.size() + 1);
  }
}

Status set_policy(const std::string& name, RunSettings& settings) {
  settings.policy_name = name;
  if (name == "auto") return {};
  if (const auto masks = placement::parse_mask_policy(name)) {
    settings.policy = placement::policy_of({.masks = *masks});
    // If requested by name, it works as in the paper: main is placed before the program's threads start.
    // Trials leave main alone until they know the program.
    if (*masks == placement::MaskPolicy::main_least_loaded)
      settings.policy = placement::with_main_at_first_birth(std::move(*settings.policy));
    settings.masks = placement::need_of(*masks);
    return {};
  }
  if (name.starts_with(list_prefix)) {
    const auto allowed = allowed_cpus(settings);
    if (!allowed) return std::unexpected(allowed.error());
    auto policy = parse_cpu_lists(std::string_view(name).substr(list_prefix.size()), *allowed);
    if (!policy) return std::unexpected(policy.error());
    settings.policy = std::move(*policy);
    settings.masks = MasksNeed::nothing;
    return {};
  }
  if (name.starts_with(rules_prefix)) {
    auto rules = placement::read_rule_file(name.substr(rules_prefix.size()));
    if (!rules) return std::unexpected(rules.error());
    const auto allowed = allowed_cpus(settings);
    if (!allowed) return std::unexpected(allowed.error());
    for (const placement::Rule& rule : *rules)
      if (!allowed->contains_all(rule.cpus)) return not_allowed("--policy " + name, rule.cpus, *allowed);
    settings.policy = placement::rule_policy(std::move(*rules));
    settings.masks = MasksNeed::nothing;
    return {};
  }
  if (name.ends_with(".so")) {
    auto policy = placement::load_plug_in(name.find('/') == std::string::npos ? "./" + name : name);
    if (!policy) return std::unexpected(policy.error());
    settings.policy = std::move(*policy);
    settings.masks = MasksNeed::load;
    return {};
  }
  return usage_error(
      "unknown policy '{}'; the policies are auto, none, one-to-one, main-least-loaded, spread, compact, "
      "llc, cpus=LIST, rules=FILE, and shared objects (FILE.so)",
      name);
}

Status set_units(const ExecOptions& options, RunSettings& settings) {
  using placement::UnitsMode;
  const auto modes = {UnitsMode::off, UnitsMode::automatic, UnitsMode::workover};
  const auto* const mode = std::ranges::find(modes, options.units, [](UnitsMode m) { return name_of(m); });
  if (mode == modes.end()) return usage_error("--units wants auto, workover or off, not '{}'", options.units);
  settings.units = *mode;
  if (options.learn && settings.units != UnitsMode::off)
    return usage_error("--units observes one run, but --learn makes many; leave one of them out");
  if (settings.units != UnitsMode::workover) return {};
  if (settings.policy_name != "auto" && settings.policy_name != "none")
    return usage_error(
        "--units workover places the threads itself; leave out --policy {}, or say --units auto",
        settings.policy_name);
  settings.policy = placement::policy_of({.masks = placement::MaskPolicy::units});
  settings.policy_name = "workover";
  settings.masks = MasksNeed::nothing;
  return {};
}

Status set_progress(const ExecOptions& options, RunSettings& settings) {
  settings.progress.known_programs = options.known_progress;
  if (options.progress.empty()) return {};
  settings.progress.pattern = options.progress;
  if (options.progress_from == "stdout") {
    settings.progress.stream = placement::ReportStream::output;
  } else if (options.progress_from == "stderr") {
    settings.progress.stream = placement::ReportStream::error;
  } else {
    const std::string& text = options.progress_from;
    const auto number = parse_number<int>(text);
    if (!number || *number < 3 || *number > 1000)
      return usage_error("--progress-from wants stdout, stderr or a descriptor from 3 to 1000, not '{}'",
                         text);
    settings.progress.stream = placement::ReportStream::descriptor;
    settings.progress.descriptor = *number;
  }
  return {};
}

}  // namespace

void add_options(CLI::App& verb, ExecOptions& options) {
  verb.add_option("command", options.command, "after --: the program and its arguments");
  verb.add_option(
      "--policy", options.policy,
      "auto (default), none, one-to-one, main-least-loaded, spread, compact, llc, cpus=LIST[;LIST], "
      "rules=FILE, FILE.so");
  verb.add_option("--sched", options.sched, "scheduling class of all threads: other, batch, rr, fifo");
  verb.add_option("--slice", options.slice_ms,
                  "time slice in milliseconds, 0.1 to 100 (Linux 6.12 and newer)");
  verb.add_option("--priority", options.priority,
                  "nice value of millrace itself while it follows the program, -20 (first) to 19")
      ->type_name("N");
  verb.add_option("--birth", options.birth, "how births are seen: auto, ptrace, shim, poll");
  verb.add_option("--attach", options.attach, "place the threads of a running process instead")
      ->type_name("PID");
  verb.add_option(
      "--units", options.units,
      "observe what each thread uses, and keep those apart that want the same execution units: auto, "
      "workover, off (default)");
  verb.add_option("--progress", options.progress, "pattern whose number in the output tells of progress")
      ->type_name("REGEX");
  verb.add_option("--progress-from", options.progress_from,
                  "stdout, stderr (default), or a descriptor's number");
  verb.add_flag("!--no-progress", options.known_progress,
                "do not read along what a program is known to report on standard error");
  verb.add_option("--learn", options.learn, "run the program up to so many times to learn its plan")
      ->type_name("N");
  verb.add_flag("!--no-profile", options.profiles, "neither use what was learnt nor keep what is");
  verb.add_flag("--quiet", options.quiet, "no summary");
  verb.add_option("--json", options.json, "write the summary there")->type_name("FILE");
  verb.add_flag(overwrite_flag, options.force, overwrite_help);
}

Result<RunSettings> to_settings(const ExecOptions& options) {
  RunSettings settings;
  if (options.command.empty() == !options.attach)
    return usage_error("name a program after --, or a process by --attach: millrace exec -- x264 ...");
  settings.command = options.command;
  settings.attach = options.attach;
  settings.ignored_signals = options.ignored_signals;
  // An explicit class or slice leaves nothing for trials to vary.
  const bool by_hand = options.sched || options.slice_ms;
  if (by_hand && options.policy == "auto")
    return usage_error(
        "--policy auto finds class and slice itself; leave out --sched and --slice, or name a policy");
  if (auto set = set_policy(options.policy.value_or(by_hand ? "none" : "auto"), settings); !set)
    return std::unexpected(set.error());
  if (options.sched) {
    settings.scheduling_class = machine::parse_scheduling_class(*options.sched);
    if (!settings.scheduling_class || *settings.scheduling_class == machine::SchedulingClass::idle)
      return usage_error("--sched wants other, batch, rr or fifo, not '{}'", *options.sched);
  }
  if (options.slice_ms) {
    constexpr double ns_for_ms = 1e6;
    const double ns = *options.slice_ms * ns_for_ms;
    if (!(ns >= static_cast<double>(machine::shortest_slice_ns)) ||
        ns > static_cast<double>(machine::longest_slice_ns))
      return usage_error("--slice wants 0.1 to 100 milliseconds, not {}", *options.slice_ms);
    settings.slice_ns = static_cast<std::int64_t>(std::llround(ns));
  }
  if (options.priority) {
    if (*options.priority < placement::lowest_nice || *options.priority > placement::highest_nice)
      return usage_error("--priority wants a nice value from -20 to 19, not {}", *options.priority);
    if (options.learn)
      return usage_error("--priority is for one run, but --learn makes many; leave one of them out");
    settings.own_nice = options.priority;
  }
  const auto way = placement::parse_birth_way(options.birth);
  if (!way || *way == placement::BirthWay::none)
    return usage_error("--birth wants auto, ptrace, shim or poll, not '{}'", options.birth);
  settings.birth = *way;
  if (auto set = set_units(options, settings); !set) return std::unexpected(set.error());
  if (auto set = set_progress(options, settings); !set) return std::unexpected(set.error());
  if (options.learn && (*options.learn < 1 || settings.policy || settings.attach))
    return usage_error("--learn wants a number of runs of a program, under the policy auto");
  sigprocmask(SIG_SETMASK, nullptr, &settings.blocked_signals);
  return settings;
}

}  // namespace millrace::cli
