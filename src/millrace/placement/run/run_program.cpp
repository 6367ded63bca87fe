#include "millrace/placement/run/run_program.h"

#include "millrace/base/clock.h"
#include "millrace/base/error_line.h"
#include "millrace/base/system_reason.h"
#include "millrace/machine/thread_affinity.h"
#include "millrace/placement/apply/guardian.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/birth/birth_shim.h"
#include "millrace/placement/birth/follower.h"
#include "millrace/placement/birth/forwarded_signals.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/surroundings.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/program/program_key.h"
#include "millrace/placement/run/overseer.h"
#include "millrace/placement/trials/output_tap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <poll.h>
#include <set>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// Polled for births so often, where nothing else tells of them: a program makes most threads at its start.
constexpr std::int64_t eager_polling_ns = 5'000'000;
constexpr std::int64_t eager_time_ns = 1'000'000'000;
// No plans are tried on programs that run no longer than this.
constexpr std::int64_t short_program_ns = 200'000'000;
// Nor on those whose plan is known, until it is nearly time to look whether it still holds: reading the
// topology meanwhile would cost a program of a second or two one or two percent.
constexpr std::int64_t known_program_ns = 3'000'000'000;
// A signal that was sent to the whole process group reaches the program by itself within this time.
constexpr std::int64_t group_signal_ns = 20'000'000;

Policy with_defaults(Policy policy, const RunSettings& settings) {
  return [policy = std::move(policy), scheduling_class = settings.scheduling_class,
          slice = settings.slice_ns](const Surroundings& surroundings, std::span<const ThreadView> threads) {
    std::vector<ThreadPlan> plans = policy(surroundings, threads);
    for (ThreadPlan& plan : plans) {
      if (!plan.scheduling_class) plan.scheduling_class = scheduling_class;
      if (!plan.slice_ns) plan.slice_ns = slice;
    }
    return plans;
  };
}

// Whether this process may give the class and slice that are asked for, tried on a thread of its own.
Status check_permission(const RunSettings& settings) {
  const machine::SchedulingChange change{.scheduling_class = settings.scheduling_class,
                                         .slice_ns = settings.slice_ns};
  if (change == machine::SchedulingChange()) return {};
  Status permitted;
  std::thread([&] {
    const auto granted = machine::change_scheduling(0, change);
    if (!granted) permitted = std::unexpected(granted.error());
  }).join();
  return permitted;
}

// The masks of the first births, for a shim to take without asking.
std::vector<CpuSet> masks_in_advance(const Policy& policy, const Surroundings& surroundings) {
  constexpr int most = 64;
  std::vector<ThreadView> threads = {{.number = 0, .main = true}};
  std::vector<CpuSet> masks;
  for (int number = 1; number <= most; ++number) {
    threads.push_back({.number = number});
    masks.push_back(policy(surroundings, threads).back().mask);
  }
  return masks;
}

class Run {
 public:
  Run(const RunSettings& settings, Journal journal, CpuSet allowed)
      : settings_(settings), journal_(std::move(journal)), allowed_(std::move(allowed)) {}

  Result<Summary> launch();
  Result<Summary> attach();

 private:
  [[nodiscard]] BirthWay choose_way(const ProgramFile* program);
  void remember(const ProgramFile* program);
  Status prepare_reports();
  Status prepare_threads();
  void begin_trials();
  void oversee(Follower* follower, pid_t process);
  void poll_births();
  [[nodiscard]] bool pass_on(Follower* follower, pid_t process, const signalfd_siginfo& signal);
  Summary finish(Follower* follower);
  void learn();

  const RunSettings& settings_;
  Journal journal_;
  CpuSet allowed_;
  ForwardedSignals signals_;
  Summary summary_;
  std::int64_t begun_ns_ = now_ns();
  std::optional<machine::Topology> topology_;
  std::optional<tuning::ProfileKey> key_;
  std::optional<Plan> remembered_;
  std::optional<ReportReader> reports_;
  std::optional<OutputTap> tap_;
  std::optional<BirthShim> shim_;
  std::set<pid_t> seen_once_;  // where there is a shim: threads that /proc has shown
  std::optional<ThreadRegister> threads_;
  std::optional<Overseer> overseer_;
};

BirthWay Run::choose_way(const ProgramFile* program) {
  if (settings_.birth != BirthWay::any) return settings_.birth;
  if (program != nullptr && program->changes_user) {
    summary_.birth_reason = "the program changes its user, which tracing would prevent";
    return BirthWay::polling;
  }
  if (program != nullptr && program->traces && program->dynamic) {
    summary_.birth_reason = "the program uses ptrace itself";
    return BirthWay::shim;
  }
  if (tracer_of(getpid()) != 0) {
    // Followed by its tracer, children of this process would have two.
    summary_.birth_reason = "millrace itself is being traced";
    return program != nullptr && program->dynamic ? BirthWay::shim : BirthWay::polling;
  }
  return BirthWay::ptrace;
}

void Run::remember(const ProgramFile* program) {
  if (settings_.policy || settings_.profiles == nullptr || program == nullptr) return;
  key_ = program_key(*program, settings_.command, allowed_, size_of_file);
  const auto profile = settings_.profiles->load(*key_);
  if (!profile) {
    summary_.notes.push_back(profile.error().message);
  } else if (*profile) {
    remembered_ = parse_plan((*profile)->plan);
    // Most of what is gained on an idle machine is lost beside others: threads of class batch wait where
    // others would interrupt, threads with masks cannot step aside. What is found out now says nothing of an
    // idle one either.
    if (remembered_ && !remembered_->untouched() && others_are_running(allowed_)) {
      summary_.notes.push_back(
          fmt::format("other programs are running: what was learnt ({}) is not followed, nor anything stored",
                      to_string(*remembered_)));
      remembered_.reset();
      key_.reset();
    }
  }
}

Status Run::prepare_reports() {
  const ProgressSettings& progress = settings_.progress;
  if (progress.stream == ReportStream::none) return {};
  auto reader = ReportReader::make(progress.pattern);
  if (!reader) return std::unexpected(reader.error());
  reports_.emplace(std::move(*reader));
  auto tap = progress.stream == ReportStream::descriptor ? OutputTap::on_new_descriptor(progress.descriptor)
             : progress.stream == ReportStream::output   ? OutputTap::on_stream(STDOUT_FILENO)
                                                         : OutputTap::on_stream(STDERR_FILENO);
  if (!tap) return std::unexpected(tap.error());
  tap_.emplace(std::move(*tap));
  return {};
}

Status Run::prepare_threads() {
  Policy policy =
      with_defaults(settings_.policy.value_or(policy_of(remembered_.value_or(Plan()))), settings_);
  Surroundings surroundings{.allowed = allowed_};
  // Reading the topology takes milliseconds; without masks there is time for it while the program runs.
  const bool masks = settings_.policy ? settings_.masks != MasksNeed::nothing
                                      : remembered_ && remembered_->masks != MaskPolicy::none;
  if (masks) {
    const bool load = settings_.policy ? settings_.masks == MasksNeed::load
                                       : remembered_->masks == MaskPolicy::main_least_loaded;
    auto read = read_surroundings(allowed_, topology_, load);
    if (!read) return std::unexpected(read.error());
    surroundings = std::move(*read);
  }
  if (summary_.birth == BirthWay::shim) {
    const auto advance = masks_in_advance(policy, surroundings);
    auto shim =
        BirthShim::make(std::filesystem::path(journal_.path()).replace_extension(board_suffix), advance);
    if (shim) {
      for (const CpuSet& mask : advance)
        if (!mask.empty()) std::ignore = journal_.add_mask(mask);
      shim_.emplace(std::move(*shim));
    } else {
      summary_.birth = BirthWay::polling;
      summary_.birth_reason = shim.error().message;
    }
  }
  threads_.emplace(std::move(surroundings), std::move(policy), journal_);
  overseer_.emplace(*threads_, reports_ ? &*reports_ : nullptr, remembered_.value_or(Plan()));
  return {};
}

// While the program runs already, and has shown that it does for a while: it takes tens of milliseconds.
void Run::begin_trials() {
  auto surroundings = read_surroundings(allowed_, topology_, true);
  if (!surroundings) {
    summary_.notes.push_back(surroundings.error().message + "; no plans are tried");
    return;
  }
  threads_->set_surroundings(std::move(*surroundings));
  overseer_->try_plans(candidate_plans(*topology_, allowed_, machine::default_slice_ns() != 0),
                       settings_.trials, remembered_);
}

Result<Summary> Run::launch() {
  const auto program = inspect_program(settings_.command.front());
  if (program && program->narrow)
    return usage_error("'{}' is a 32-bit program; millrace exec handles 64-bit programs: run it without",
                       settings_.command.front());
  summary_.program = settings_.command.front();
  summary_.birth = choose_way(program ? &*program : nullptr);
  if (summary_.birth == BirthWay::shim && program && !program->dynamic)
    summary_.notes.emplace_back("a static program loads no shim; its births are found by polling");
  remember(program ? &*program : nullptr);
  if (auto ready = prepare_reports(); !ready) return std::unexpected(ready.error());
  const auto guardian = Guardian::start(journal_.path());
  if (!guardian) return std::unexpected(guardian.error());

  if (auto ready = prepare_threads(); !ready) return std::unexpected(ready.error());
  LaunchSettings launch{.command = settings_.command,
                        .blocked_signals = settings_.blocked_signals,
                        .ignored_signals = settings_.ignored_signals};
  if (shim_) launch.environment = shim_->environment();
  if (tap_) launch.descriptors.push_back(tap_->for_program());
  auto waiting = WaitingProgram::make(launch);
  if (!waiting) return std::unexpected(waiting.error());
  if (tap_) tap_->launched();

  Follower follower(*threads_);
  const auto launched = follower.launch(*waiting, summary_.birth == BirthWay::ptrace);
  if (!launched) return std::unexpected(launched.error());
  if (summary_.birth == BirthWay::ptrace && !launched->traced) {
    summary_.birth = BirthWay::polling;
    summary_.birth_reason = launched->not_traced;
  }
  summary_.startup_ms = static_cast<double>(launched->time_ns - begun_ns_) / 1e6;
  if (launched->exec_error != 0)
    print_error("millrace", fmt::format("cannot run '{}': {}", settings_.command.front(),
                                        system_reason(launched->exec_error)));
  begun_ns_ = launched->time_ns;
  oversee(&follower, waiting->process());
  return finish(&follower);
}

Result<Summary> Run::attach() {
  const pid_t process = *settings_.attach;
  const auto stat = read_task_stat(process, process);
  if (!stat || stat->state == 'Z') return usage_error("there is no process {}", process);
  if (const auto own = machine::thread_affinity(process)) allowed_ = *own;
  summary_.program = fmt::format("process {} ({})", process, stat->name);
  summary_.birth = settings_.birth == BirthWay::any ? BirthWay::ptrace : settings_.birth;
  if (summary_.birth == BirthWay::shim)
    return usage_error("a shim is loaded when a program begins; to attach use --birth ptrace or poll");
  const auto guardian = Guardian::start(journal_.path());
  if (!guardian) return std::unexpected(guardian.error());

  if (auto ready = prepare_threads(); !ready) return std::unexpected(ready.error());
  std::optional<Follower> follower;
  if (summary_.birth == BirthWay::ptrace) {
    follower.emplace(*threads_);
    if (const auto attached = follower->attach(process); !attached) {
      summary_.birth = BirthWay::polling;
      summary_.birth_reason = attached.error().message;
      follower.reset();
    }
  }
  if (!follower)
    if (const auto known = threads_->process_began(process, 0); !known) return std::unexpected(known.error());
  summary_.startup_ms = static_cast<double>(now_ns() - begun_ns_) / 1e6;
  begun_ns_ = now_ns();
  oversee(follower ? &*follower : nullptr, process);
  if (follower) follower->stop();
  return finish(nullptr);
}

void Run::poll_births() {
  if (shim_)
    for (const ShimBirth& birth : shim_->take_births())
      threads_->thread_began(birth.thread, birth.process, 0, birth.mask);
  // Births of processes that are not known yet, and those that went past the shim.
  for (const pid_t process : threads_->processes()) {
    for (const pid_t thread : list_threads(process)) {
      // One that is seen for the first time may be about to take its mask by the shim; its birth would be
      // counted in the wrong order.
      if (shim_ && thread != process && seen_once_.insert(thread).second) continue;
      threads_->thread_began(thread, process, 0);
    }
    for (const pid_t child : list_children(process))
      std::ignore = threads_->process_began(child, 0);
  }
}

// False when this run is to end.
bool Run::pass_on(Follower* follower, pid_t process, const signalfd_siginfo& signal) {
  const auto number = static_cast<int>(signal.ssi_signo);
  if (settings_.attach) return number != SIGINT && number != SIGTERM && number != SIGHUP;
  // The terminal signals the whole process group, and so the program.
  if (signal.ssi_code > 0) return true;
  const std::int64_t until = now_ns() + group_signal_ns;
  while (follower != nullptr && now_ns() < until) {
    const SeenSignal seen = follower->last_signal();
    if (seen.number == number && seen.sender == static_cast<pid_t>(signal.ssi_pid) &&
        now_ns() - seen.time_ns < 2 * group_signal_ns)
      return true;
    constexpr useconds_t pause_us = 1000;
    if (summary_.birth != BirthWay::ptrace) break;
    usleep(pause_us);
  }
  kill(process, number);
  return true;
}

// Until the program has ended, or this run is to end.
void Run::oversee(Follower* follower, pid_t process) {
  const bool polls = summary_.birth == BirthWay::polling || summary_.birth == BirthWay::shim;
  std::int64_t poll_at = begun_ns_;
  bool trials_to_begin = !settings_.policy;
  while (true) {
    std::int64_t next = overseer_->next_ns();
    if (polls) next = std::min(next, poll_at);
    const std::int64_t wait_ms = std::max<std::int64_t>(0, (next - now_ns() + 999'999) / 1'000'000);
    std::array<pollfd, 2> ready = {
        pollfd{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = follower == nullptr ? -1 : follower->end_descriptor(), .events = POLLIN, .revents = 0}};
    poll(ready.data(), ready.size(), static_cast<int>(wait_ms));
    if (ready[1].revents != 0) return;
    while (const auto signal = signals_.take())
      if (!pass_on(follower, process, *signal)) return;
    const std::int64_t now = now_ns();
    if (polls && now >= poll_at) {
      poll_births();
      poll_at = now + (now - begun_ns_ < eager_time_ns ? eager_polling_ns : Overseer::observation_ns);
      const auto stat =
          follower == nullptr ? read_task_stat(process, process) : std::optional<TaskStat>(TaskStat());
      if (!stat || stat->state == 'Z') return;
    }
    if (tap_) reports_->take(tap_->take());
    if (now < overseer_->next_ns()) continue;
    if (trials_to_begin && now - begun_ns_ >= (remembered_ ? known_program_ns : short_program_ns)) {
      begin_trials();
      trials_to_begin = false;
    }
    overseer_->tick();
  }
}

Summary Run::finish(Follower* follower) {
  summary_.seconds = seconds(now_ns() - begun_ns_);
  if (const auto end = follower == nullptr ? std::nullopt : follower->end()) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    summary_.status = end->status;
    summary_.cpu_seconds = seconds(end->usage.ru_utime) + seconds(end->usage.ru_stime);
    summary_.voluntary_switches = end->usage.ru_nvcsw;
    summary_.involuntary_switches = end->usage.ru_nivcsw;
  }
  summary_.restored = threads_->restore();
  summary_.threads = threads_->counts();
  // Those too that ended before they were looked at.
  if (shim_)
    summary_.threads.births = std::max(summary_.threads.births, shim_->births() + summary_.threads.processes);
  summary_.policy = settings_.policy_name;
  overseer_->finish(summary_);
  const bool attributes = journal_.content().attributes;
  for (std::string& note : diagnostics(attributes))
    summary_.notes.push_back(std::move(note));
  learn();
  constexpr double patience = 2;
  if (tap_) tap_->finish(patience);
  return std::move(summary_);
}

void Run::learn() {
  if (!key_ || !summary_.learnt) return;
  tuning::Profile profile{.plan = to_string(summary_.plan)};
  if (summary_.gain) profile.costs.push_back({to_string(Plan()), std::exp(summary_.gain->mean)});
  if (const auto saved = settings_.profiles->save(*key_, profile); !saved)
    summary_.notes.push_back(saved.error().message);
}

}  // namespace

Result<Summary> run_program(const RunSettings& settings) {
  if (settings.command.empty() == !settings.attach)
    return usage_error("name either a program to run or a process to attach to");
  if (auto permitted = check_permission(settings); !permitted) return std::unexpected(permitted.error());
  auto allowed = machine::current_thread_affinity();
  if (!allowed) return std::unexpected(allowed.error());
  const auto folder = Journal::default_folder();
  if (!folder) return std::unexpected(folder.error());
  restore_left_behind(*folder);
  auto journal = Journal::begin(*folder);
  if (!journal) return std::unexpected(journal.error());
  Run run(settings, std::move(*journal), std::move(*allowed));
  return settings.attach ? run.attach() : run.launch();
}

}  // namespace millrace::placement
