#include "millrace/cli/exec/exec_options.h"

#include "millrace/base/file/overwrite.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/cli/command/command.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/policy/plug_in.h"
#include "millrace/placement/policy/rule_file.h"
#include "millrace/placement/run/learn.h"
#include "millrace/placement/run/own_priority.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::cli {
namespace {

using placement::MasksNeed;
using placement::RunSettings;

constexpr std::string_view list_prefix = "cpus=";
constexpr std::string_view rules_prefix = "rules=";

OptionWords policy_words() {
  OptionWords words{"auto"};
  for (const placement::MaskPolicy policy : placement::all_mask_policies)
    words.emplace_back(placement::name_of(policy));
  words.insert(words.end(), {"cpus=", "rules="});
  return words;
}

// CPUs that the program may use.
Result<machine::CpuSet> allowed_cpus(const RunSettings& settings) {
  auto allowed =
      settings.attach ? machine::thread_affinity(*settings.attach) : machine::current_thread_affinity();
  if (!allowed) return usage_error("--attach: {}", allowed.error().message);
  return allowed;
}

std::unexpected<Error> not_allowed(std::string_view option, const machine::CpuSet& asked,
                                   const machine::CpuSet& allowed) {
  return usage_error("{}: the program may not use CPU {}; choose from {}", option,
                     (asked - allowed).to_string(), allowed.to_string());
}

// "0-3" or "0;1;2-3"; allowed: the CPUs that the program may use.
Result<placement::Policy> parse_cpu_lists(std::string_view text, const machine::CpuSet& allowed) {
  std::vector<machine::CpuSet> lists;
  while (true) {
    const std::string_view part = text.substr(0, text.find(';'));
    auto list = machine::CpuSet::parse(part);
    if (!list || list->empty())
      return usage_error(
          "--policy cpus=: '{}' is not a list of CPUs; write 0-3,8, or one list per thread: '0;1;2-3'", part);
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
  const OptionWords words = policy_words();
  return usage_error("--policy: unknown value {}{}; use {}, or a shared object (FILE.so)", in_quotes(name),
                     did_you_mean(name, std::vector<std::string_view>(words.begin(), words.end())),
                     fmt::join(words, ", "));
}

Status set_units(const ExecOptions& options, RunSettings& settings) {
  using placement::UnitsMode;
  const auto modes = {UnitsMode::off, UnitsMode::automatic, UnitsMode::workover};
  const auto* const mode = std::ranges::find(modes, options.units, [](UnitsMode m) { return name_of(m); });
  if (mode == modes.end())
    return usage_error("--units: unknown value '{}'; use auto, workover or off", options.units);
  settings.units = *mode;
  if (options.learn && settings.units != UnitsMode::off)
    return usage_error("--units observes one run, but --learn makes many; leave one of them out");
  if (settings.units != UnitsMode::workover) return {};
  if (settings.policy_name != "auto" && settings.policy_name != "none")
    return usage_error(
        "--units workover places the threads itself; leave out --policy {}, or give --units auto",
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
      return usage_error(
          "--progress-from: unknown stream {}; give stdout, stderr or a descriptor from 3 to 1000",
          in_quotes(text));
    settings.progress.stream = placement::ReportStream::descriptor;
    settings.progress.descriptor = *number;
  }
  return {};
}

}  // namespace

void add_options(CLI::App& verb, ExecOptions& options) {
  verb.add_option("command", options.command, "Program and its arguments")
      ->option_text("-- PROGRAM [ARGUMENT...]");
  verb.add_option(
          "--policy", options.policy,
          "Placement of the threads. auto: learn the best by trials; none: as the kernel does; one-to-one, "
          "main-least-loaded, spread, compact, llc: fixed arrangements; cpus=LIST: CPUs, such as 0-3,8; "
          "rules=FILE: rules by thread name; FILE.so: a policy of your own")
      ->option_text("NAME")
      ->check(suggest(policy_words()))
      ->default_str("auto; none with --sched or --slice");
  verb.add_option("--learn", options.learn,
                  fmt::format("Run the program up to N times ({} or more) and store the best placement",
                              placement::PlanSearch::least_runs() + 1))
      ->check(between(1, 1 << 30));
  verb.add_option("--attach", options.attach, "Place the threads of a running process instead")
      ->option_text("PID");
  verb.add_flag("-q,--quiet", options.quiet, "Print no summary");
  verb.add_option("--json", options.json, "Write the summary to a file, or - for standard output")
      ->option_text("FILE");
  begin_group(verb, "Placement");
  verb.add_option(
          "--units", options.units,
          "Measure which execution units each thread uses, and separate threads that compete for them. auto: "
          "among other policies; workover: only this")
      ->option_text("NAME")
      ->check(one_of_many({"auto", "workover", "off"}))
      ->default_str("off");
  verb.add_option("--sched", options.sched, "Scheduling class of all threads")
      ->option_text("NAME")
      ->check(one_of({"other", "batch", "rr", "fifo"}));
  verb.add_option("--slice", options.slice_ms, "Time slice in milliseconds; needs Linux 6.12")
      ->option_text("MS")
      ->check(between(0.1, 100.0));
  verb.add_option("--detect,--birth", options.birth, "Detection of new threads")
      ->option_text("NAME")
      ->check(one_of({"auto", "ptrace", "poll"}, {"shim"}))
      ->default_str("auto");
  verb.add_option("--nice,--priority", options.priority,
                  "Nice value of millrace itself while it follows the program")
      ->check(between(placement::lowest_nice, placement::highest_nice));
  verb.add_flag("!--no-profile", options.profiles, "Neither use nor store what earlier runs learnt");
  begin_group(verb, "Progress of the program");
  verb.add_option(
          "--progress", options.progress,
          "Pattern of a number in the output that grows with the work done, such as 'frame= *([0-9]+)'")
      ->option_text("REGEX");
  verb.add_option("--progress-from", options.progress_from,
                  "Stream with this output: stdout, stderr, or a file descriptor (3 to 1000)")
      ->option_text("STREAM")
      ->check(suggest({"stdout", "stderr"}))
      ->default_str("stderr");
  verb.add_flag("!--no-progress", options.known_progress,
                "Do not read the progress that well-known programs print to standard error");
  begin_group(verb, "Reports");
  add_overwrite_flag(verb, options.force);
  verb.footer("# Run a program, and place its threads while it runs\n"
              "millrace exec -- x264 --threads 8 -o out.mkv in.y4m\n"
              "# Learn the best placement from up to 20 runs\n"
              "millrace exec --learn 20 -- ffmpeg -v error -y -i in.mp4 -c:v libx265 out.mp4");
}

Result<RunSettings> to_settings(const ExecOptions& options) {
  RunSettings settings;
  if (options.command.empty() == !options.attach)
    return usage_error(
        "give either a program after -- or a process with --attach: millrace exec -- x264 ...");
  settings.command = options.command;
  settings.attach = options.attach;
  settings.ignored_signals = options.ignored_signals;
  // An explicit class or slice leaves nothing for trials to vary.
  const bool by_hand = options.sched || options.slice_ms;
  if (by_hand && options.policy == "auto")
    return usage_error(
        "--policy auto chooses class and slice itself; leave out --sched and --slice, or name a policy");
  if (auto set = set_policy(options.policy.value_or(by_hand ? "none" : "auto"), settings); !set)
    return std::unexpected(set.error());
  if (options.sched) {
    settings.scheduling_class = machine::parse_scheduling_class(*options.sched);
    if (!settings.scheduling_class || *settings.scheduling_class == machine::SchedulingClass::idle)
      return usage_error("--sched: unknown class '{}'; use other, batch, rr or fifo", *options.sched);
  }
  if (options.slice_ms) {
    constexpr double ns_for_ms = 1e6;
    const double ns = *options.slice_ms * ns_for_ms;
    if (!(ns >= static_cast<double>(machine::shortest_slice_ns)) ||
        ns > static_cast<double>(machine::longest_slice_ns))
      return usage_error("--slice: {} is out of range; give 0.1 to 100", *options.slice_ms);
    settings.slice_ns = static_cast<std::int64_t>(std::llround(ns));
  }
  if (options.priority) {
    if (*options.priority < placement::lowest_nice || *options.priority > placement::highest_nice)
      return usage_error("--nice: {} is out of range; give -20 to 19", *options.priority);
    if (options.learn)
      return usage_error("--nice is for one run, but --learn makes many; leave one of them out");
    settings.own_nice = options.priority;
  }
  std::string_view birth = options.birth;
  if (birth == "shim") {
    print_error("millrace",
                "--detect shim: there is no shim any more; new threads are found by polling, as by "
                "--detect poll");
    birth = "poll";
  }
  const auto way = placement::parse_birth_way(birth);
  if (!way || *way == placement::BirthWay::none)
    return usage_error("--detect: unknown value '{}'; use auto, ptrace or poll", options.birth);
  settings.birth = *way;
  if (auto set = set_units(options, settings); !set) return std::unexpected(set.error());
  if (auto set = set_progress(options, settings); !set) return std::unexpected(set.error());
  if (options.learn && (*options.learn < 1 || settings.policy || settings.attach))
    return usage_error(
        "--learn needs a program after --, and leaves the policy to millrace; leave out --policy and "
        "--attach");
  if (options.learn && !options.json.empty())
    return usage_error("--json describes one run, but --learn makes many; leave one of them out");
  sigprocmask(SIG_SETMASK, nullptr, &settings.blocked_signals);
  return settings;
}

}  // namespace millrace::cli
