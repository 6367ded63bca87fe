#include "millrace/placement/run/run_program.h"

#include "millrace/base/clock.h"
#include "millrace/base/error_line.h"
#include "millrace/base/system_reason.h"
#include "millrace/machine/thread/thread_affinity.h"
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
#include <csignal>
#include <ctime>
#include <mutex>
#include <poll.h>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

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
constexpr const char* processor_times_file = "/proc/stat";
// A signal that was sent to the whole process group reaches the program by itself within this time.
constexpr std::int64_t group_signal_ns = 20'000'000;

Policy with_defaults(Policy policy, const RunSettings& settings) {
  const Policy::Traits traits = policy.traits();
  return {[policy = std::move(policy), scheduling_class = settings.scheduling_class,
           slice = settings.slice_ns](const Surroundings& surroundings, std::span<const ThreadView> threads) {
            std::vector<ThreadPlan> plans = policy(surroundings, threads);
            for (ThreadPlan& plan : plans) {
              if (!plan.scheduling_class) plan.scheduling_class = scheduling_class;
              if (!plan.slice_ns) plan.slice_ns = slice;
            }
            return plans;
          },
          traits};
}

// Whether this process may give the class and slice that are asked for, tried on a thread of its own.
Status check_permission(const RunSettings& settings) {
  const machine::SchedulingChange change{.scheduling_class = settings.scheduling_class,
                                         .slice_ns = settings.slice_ns};
  if (change == machine::SchedulingChange()) return {};
  Status permitted;
  try {
    std::thread([&] {
      const auto granted = machine::change_scheduling(0, change);
      if (!granted) permitted = std::unexpected(granted.error());
    }).join();
  } catch (const std::system_error&) {
    // No thread may be made here: whether it is permitted, the first thread of the program shows.
  }
  return permitted;
}

// Whether this process may schedule the threads of another. Its nice value is set to what it is, which
// changes nothing and is permitted to those who may.
Status check_owner(pid_t process, const std::string& name) {
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(process));
  if (errno == 0 && setpriority(PRIO_PROCESS, static_cast<id_t>(process), nice) == 0) return {};
  if (errno != EPERM && errno != EACCES) return {};
  return failure("process {} ({}) belongs to another user: only that user, and root, may place its threads",
                 process, name);
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

// To standard error, where that takes it.
void tell(const std::string& line) { std::ignore = write(STDERR_FILENO, line.data(), line.size()); }

// Where none can be had the program runs all the same, and nothing is changed.
Journal begin_journal(std::vector<std::string>& notes) {
  auto folder = StateFolder::of_this_user();
  if (!folder) return Journal::refusing(folder.error());
  if (!folder->refused().empty()) notes.push_back(folder->refused());
  restore_left_behind(*folder);
  auto journal = Journal::begin(std::move(*folder));
  return journal ? std::move(*journal) : Journal::refusing(journal.error());
}

// How long nothing is to be looked at after `look`, for it to take half a hundredth of a CPU at most, however
// many threads there are; for births, another half.
template <class Look> std::int64_t rest_after(const Look& look) {
  constexpr std::int64_t share = 200;
  const auto cpu_time_ns = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return nanoseconds(time);
  };
  const std::int64_t before = cpu_time_ns();
  look();
  return share * (cpu_time_ns() - before);
}

class Run {
 public:
  Run(const RunSettings& settings, Journal journal, CpuSet allowed, std::vector<std::string> notes)
      : settings_(settings), journal_(std::move(journal)), allowed_(std::move(allowed)) {
    summary_.notes = std::move(notes);
  }

  Result<Summary> launch();
  Result<Summary> attach();

 private:
  [[nodiscard]] BirthWay choose_way(const ProgramFile* program);
  void remember(const ProgramFile* program);
  Status prepare_reports();
  Status prepare_threads();
  void begin_trials();
  void oversee(Follower* follower, pid_t process);
  [[nodiscard]] bool polls() const {
    return summary_.birth == BirthWay::polling || summary_.birth == BirthWay::shim || handed_over_;
  }
  [[nodiscard]] bool must_not_be_traced(pid_t process);
  void hand_over_in_time(Follower& follower, std::int64_t now);
  bool poll_births();
  void take_orphans();
  void restore(Follower* follower);
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
  std::string processor_times_;  // as they were at the start
  std::optional<Plan> remembered_;
  std::optional<ReportReader> reports_;
  std::optional<OutputTap> tap_;
  std::optional<BirthShim> shim_;
  bool takes_orphans_ = false;
  pid_t guardian_ = -1;
  bool handed_over_ = false;
  std::mutex executed_mutex_;
  std::vector<std::string> executed_notes_;  // written by the thread that traces
  std::set<pid_t> seen_once_;                // where there is a shim: threads that /proc has shown
  std::optional<ThreadRegister> threads_;
  std::optional<Overseer> overseer_;
};

BirthWay Run::choose_way(const ProgramFile* program) {
  if (settings_.birth != BirthWay::any) return settings_.birth;
  if (program != nullptr && program->changes_user) {
    summary_.birth_reason = "the program changes its user, which tracing would prevent";
    return BirthWay::polling;
  }
  if (program != nullptr && program->sanitized) {
    summary_.birth_reason = "a sanitizer in the program traces it itself, at its end";
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
  processor_times_ = read_small_file(processor_times_file).value_or("");
  const auto profile = settings_.profiles->load(*key_);
  if (!profile) {
    summary_.notes.push_back(profile.error().message);
  } else if (*profile) {
    remembered_ = parse_plan((*profile)->plan);
    if (remembered_ && !may_be_candidate(*remembered_)) {
      summary_.notes.push_back(fmt::format(
          "what is stored for it ({}) is nothing that is learnt: not followed", to_string(*remembered_)));
      remembered_.reset();
    }
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
    auto shim = BirthShim::make(advance);
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
  const auto guardian = Guardian::start(journal_);
  if (!guardian) return std::unexpected(guardian.error());
  guardian_ = guardian->process();

  if (auto ready = prepare_threads(); !ready) return std::unexpected(ready.error());
  LaunchSettings launch{.command = settings_.command,
                        .blocked_signals = settings_.blocked_signals,
                        .ignored_signals = settings_.ignored_signals};
  if (shim_) launch.environment = shim_->environment();
  if (tap_) launch.descriptors.push_back(tap_->for_program());
  auto waiting = WaitingProgram::make(launch);
  if (!waiting) return std::unexpected(waiting.error());
  if (tap_) tap_->launched();

  // From here on nothing else is made that would be this process's child.
  if (polls()) take_orphans();
  Follower follower(*threads_);
  follower.on_exec([this](pid_t executed) { return must_not_be_traced(executed); });
  const auto launched = follower.launch(*waiting, summary_.birth == BirthWay::ptrace);
  if (!launched) return std::unexpected(launched.error());
  if (summary_.birth == BirthWay::ptrace && !launched->traced) {
    summary_.birth = BirthWay::polling;
    summary_.birth_reason = launched->not_traced;
    take_orphans();
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
  if (stat->of_kernel())
    return usage_error("process {} ({}) is a thread of the kernel, which is not touched", process,
                       stat->name);
  if (auto permitted = check_owner(process, stat->name); !permitted)
    return std::unexpected(permitted.error());
  if (followed_by_another(journal_, {process, stat->start_time}))
    return failure("process {} ({}) is followed by another millrace already; end that first", process,
                   stat->name);
  if (const auto own = machine::thread_affinity(process)) allowed_ = *own;
  summary_.program = fmt::format("process {} ({})", process, stat->name);
  summary_.birth = settings_.birth == BirthWay::any ? BirthWay::ptrace : settings_.birth;
  if (summary_.birth == BirthWay::shim)
    return usage_error("a shim is loaded when a program begins; to attach use --birth ptrace or poll");
  const auto guardian = Guardian::start(journal_);
  if (!guardian) return std::unexpected(guardian.error());
  guardian_ = guardian->process();

  if (auto ready = prepare_threads(); !ready) return std::unexpected(ready.error());
  std::optional<Follower> follower;
  if (summary_.birth == BirthWay::ptrace) {
    follower.emplace(*threads_);
    follower->on_exec([this](pid_t executed) { return must_not_be_traced(executed); });
    if (const auto attached = follower->attach(process); !attached) {
      summary_.birth = BirthWay::polling;
      summary_.birth_reason = attached.error().message;
      follower.reset();
    }
  }
  if (!follower)
    if (const auto known = threads_->process_began(process); !known) return std::unexpected(known.error());
  summary_.startup_ms = static_cast<double>(now_ns() - begun_ns_) / 1e6;
  begun_ns_ = now_ns();
  oversee(follower ? &*follower : nullptr, process);
  return finish(follower ? &*follower : nullptr);
}

// Whether it found any that are new.
bool Run::poll_births() {
  const int known = threads_->births();
  if (shim_)
    for (const ShimBirth& birth : shim_->take_births())
      threads_->thread_began(birth.thread, birth.process, std::nullopt, birth.mask);
  // Births of processes that are not known yet, and those that went past the shim.
  for (const pid_t process : threads_->processes()) {
    for (const pid_t thread : list_threads(process)) {
      // One that is seen for the first time may be about to take its mask by the shim; its birth would be
      // counted in the wrong order.
      if (shim_ && thread != process && seen_once_.insert(thread).second) continue;
      if (threads_->knows(thread)) continue;
      // The kernel's own in there (io_uring) are none of the program's.
      const auto stat = read_task_stat(process, thread);
      if (stat && !stat->of_kernel()) threads_->thread_began(thread, process);
    }
    for (const pid_t child : list_children(process))
      std::ignore = threads_->process_began(child);
  }
  // Those whose makers have ended.
  if (takes_orphans_)
    for (const pid_t child : list_children(getpid()))
      if (child != guardian_) std::ignore = threads_->process_began(child);
  return threads_->births() != known;
}

// Where births are polled for: what this process is left with has been the program's, however it was made.
void Run::take_orphans() { takes_orphans_ = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; }

// Told by the thread that traces. What it executes may want what a traced program may not have.
bool Run::must_not_be_traced(pid_t process) {
  const auto program = inspect_program(fmt::format("/proc/{}/exe", process));
  if (!program) return false;
  const std::string name = program->path.filename().string();
  const auto note = [this](std::string text) {
    const std::scoped_lock lock(executed_mutex_);
    if (std::ranges::find(executed_notes_, text) == executed_notes_.end())
      executed_notes_.push_back(std::move(text));
  };
  if (program->changes_user && geteuid() != 0)
    note(fmt::format(
        "'{}' was started without the rights of its file, as the program that started it was traced; "
        "use --birth poll",
        name));
  if (!program->traces && !program->sanitized) return false;
  note(fmt::format("'{}' traces programs itself: births are found by polling from its start on", name));
  return true;
}

void Run::hand_over_in_time(Follower& follower, std::int64_t now) {
  if (summary_.birth != BirthWay::ptrace || handed_over_) return;
  const std::int64_t quiet_since = std::max(begun_ns_, threads_->last_birth_ns());
  if (!follower.handed_over()) {
    if (now - quiet_since >= settings_.hand_over_ns) follower.hand_over();
    return;
  }
  handed_over_ = true;
  summary_.birth_reason =
      fmt::format("by polling since {:.1f} s, when births had ceased or a program wanted to trace",
                  seconds(now - begun_ns_));
  take_orphans();
}

// Everything that descends from the program, also what is being born at this moment.
void Run::restore(Follower* follower) {
  constexpr int most_passes = 10;
  if (polls()) {
    for (int pass = 0; pass < most_passes && poll_births(); ++pass) {
    }
  }
  summary_.restored = threads_->restore();
  const std::size_t before = threads_->processes().size();
  if (polls())
    for (std::size_t known = before, pass = 0; pass < most_passes; ++pass) {
      poll_births();
      if (threads_->processes().size() == std::exchange(known, threads_->processes().size())) break;
    }
  if (follower != nullptr) follower->stop();
  for (std::string& note : executed_notes_)
    summary_.notes.push_back(std::move(note));
  if (takes_orphans_) prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// False when this run is to end.
bool Run::pass_on(Follower* follower, pid_t process, const signalfd_siginfo& signal) {
  const auto number = static_cast<int>(signal.ssi_signo);
  if (settings_.attach)
    return (number != SIGINT && number != SIGTERM && number != SIGHUP) ||
           settings_.ignored_signals.contains(number);
  // The terminal signals the whole process group, and so the program; the program itself means its group, or
  // the shell that it takes this process for.
  if (signal.ssi_code > 0 || threads_->knows(static_cast<pid_t>(signal.ssi_pid))) return true;
  const std::int64_t until = now_ns() + group_signal_ns;
  while (follower != nullptr && now_ns() < until) {
    const SeenSignal seen = follower->last_signal();
    if (seen.number == number && seen.sender == static_cast<pid_t>(signal.ssi_pid) &&
        now_ns() - seen.time_ns < 2 * group_signal_ns)
      return true;
    constexpr useconds_t pause_us = 1000;
    if (polls()) break;
    usleep(pause_us);
  }
  kill(process, number);
  return true;
}

// Until the program has ended, or this run is to end.
void Run::oversee(Follower* follower, pid_t process) {
  std::int64_t poll_at = begun_ns_;
  bool trials_to_begin = !settings_.policy;
  std::int64_t rest_until = 0;
  while (true) {
    std::int64_t next = std::max(overseer_->next_ns(), rest_until);
    if (polls()) next = std::min(next, poll_at);
    const std::int64_t wait_ms = std::max<std::int64_t>(0, (next - now_ns() + 999'999) / 1'000'000);
    std::array<pollfd, 2> ready = {
        pollfd{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = follower == nullptr ? -1 : follower->end_descriptor(), .events = POLLIN, .revents = 0}};
    poll(ready.data(), ready.size(), static_cast<int>(wait_ms));
    if (ready[1].revents != 0) return;
    while (const auto signal = signals_.take())
      if (!pass_on(follower, process, *signal)) return;
    const std::int64_t now = now_ns();
    if (follower != nullptr) hand_over_in_time(*follower, now);
    if (polls() && now >= poll_at) {
      const std::int64_t rest = rest_after([this] { poll_births(); });
      // Once, at its start, a program is worth a little more.
      constexpr std::int64_t eagerness = 10;
      poll_at = now + (now - begun_ns_ < eager_time_ns ? std::max(rest / eagerness, eager_polling_ns)
                                                       : std::max(rest, Overseer::observation_ns));
      const auto stat =
          settings_.attach ? read_task_stat(process, process) : std::optional<TaskStat>(TaskStat());
      if (!stat || stat->state == 'Z') return;
    }
    if (tap_) reports_->take(tap_->take());
    if (now < std::max(overseer_->next_ns(), rest_until)) continue;
    if (trials_to_begin && now - begun_ns_ >= (remembered_ ? known_program_ns : short_program_ns)) {
      begin_trials();
      trials_to_begin = false;
    }
    rest_until = now + rest_after([this] { overseer_->tick(); });
  }
}

Summary Run::finish(Follower* follower) {
  summary_.seconds = seconds(now_ns() - begun_ns_);
  if (const auto end = follower == nullptr || settings_.attach ? std::nullopt : follower->end()) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    summary_.status = end->status;
    summary_.cpu_seconds = seconds(end->usage.ru_utime) + seconds(end->usage.ru_stime);
    summary_.voluntary_switches = end->usage.ru_nvcsw;
    summary_.involuntary_switches = end->usage.ru_nivcsw;
  }
  restore(follower);
  summary_.threads = threads_->counts();
  // Those too that ended before they were looked at.
  if (shim_)
    summary_.threads.births = std::max(summary_.threads.births, shim_->births() + summary_.threads.processes);
  summary_.policy = settings_.policy_name;
  overseer_->finish(summary_);
  if (summary_.unjudged && !settings_.attach)
    summary_.notes.push_back(fmt::format("nothing tells how far it gets, so it is left as it is; to find its "
                                         "plan: millrace exec --learn 60 -- {} ...",
                                         summary_.program));
  else if (summary_.unjudged)
    summary_.notes.emplace_back("nothing tells how far it gets, so it is left as it is");
  if (!summary_.threads.not_journalled.empty())
    summary_.notes.push_back("nothing is changed that could not be undone: " +
                             summary_.threads.not_journalled);
  const bool attributes = !journal_.content().attributes.empty();
  for (std::string& note : diagnostics(attributes))
    summary_.notes.push_back(std::move(note));
  learn();
  constexpr double patience = 2;
  if (tap_) tap_->finish(patience);
  return std::move(summary_);
}

void Run::learn() {
  if (!key_ || !summary_.learnt) return;
  const auto loads = parse_load(processor_times_, read_small_file(processor_times_file).value_or(""));
  const double others = taken_share(loads, allowed_, summary_.seconds, summary_.cpu_seconds);
  if (others > most_for_others) {
    summary_.notes.push_back(fmt::format(
        "other programs took {:.0f} % of the CPUs: nothing is stored of what was found", 100 * others));
    return;
  }
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
  // Ignored, it would take the ends of children away unseen.
  std::signal(SIGCHLD, SIG_DFL);
  // A file that may grow no further refuses a line, no more.
  std::signal(SIGXFSZ, SIG_IGN);
  Error error;
  {
    std::vector<std::string> notes;
    Journal journal = begin_journal(notes);
    Run run(settings, std::move(journal), std::move(*allowed), std::move(notes));
    auto summary = settings.attach ? run.attach() : run.launch();
    if (summary || settings.attach || !settings.become_program) return summary;
    error = summary.error();
  }
  if (error.kind == ErrorKind::usage) return std::unexpected(error);
  // Not even a process could be made to follow it: nothing that the program is to suffer for.
  tell(fmt::format("millrace: {}; the program runs without\n", error.message));
  const int reason = become({.command = settings.command,
                             .environment = {},
                             .descriptors = {},
                             .blocked_signals = settings.blocked_signals,
                             .ignored_signals = settings.ignored_signals});
  return failure("cannot run '{}': {}", settings.command.front(), system_reason(reason));
}

}  // namespace millrace::placement
