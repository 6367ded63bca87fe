#include "millrace/placement/run/run_program.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/error_line.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/guardian.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/birth/follower.h"
#include "millrace/placement/birth/forwarded_signals.h"
#include "millrace/placement/birth/group_witness.h"
#include "millrace/placement/birth/mask_library.h"
#include "millrace/placement/birth/signals_for_program.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/machine_state.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/run/birth_watch.h"
#include "millrace/placement/run/executed_programs.h"
#include "millrace/placement/run/overseer.h"
#include "millrace/placement/run/own_priority.h"
#include "millrace/placement/run/permission.h"
#include "millrace/placement/run/program_memory.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <list>
#include <poll.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// No plans are tried on programs that run shorter than this.
constexpr std::int64_t short_program_ns = 200'000'000;
// With a known plan, trials wait until it is nearly time to check the plan. Reading the topology earlier
// would cost a program of one or two seconds one or two percent.
constexpr std::int64_t known_program_ns = 3'000'000'000;
// By then it is known what the threads use.
constexpr std::int64_t known_units_ns = 1'500'000'000;
// Before that, nothing is changed unless the first policy does. So shorter programs need no guardian.
constexpr std::int64_t guardian_after_ns = 50'000'000;
static_assert(guardian_after_ns < std::min({short_program_ns, known_program_ns, known_units_ns}));

// Without a journal the program still runs, but nothing is changed.
Journal begin_journal(const RunSettings& settings, std::vector<std::string>& notes) {
  if (!proc_is_of_this_namespace()) {
    Error reason{ErrorKind::failure, "/proc is missing, or not that of this PID namespace: mount it"};
    notes.push_back("nothing is changed: " + reason.message);
    return Journal::refusing(std::move(reason));
  }
  auto folder = StateFolder::of_this_user();
  if (!folder) return Journal::refusing(folder.error());
  restore_left_behind(*folder);
  // A process to attach to is found in journals with names, see followed_by_another(). A program of this
  // process's own gets a guardian before anything is changed.
  auto journal =
      settings.attach ? Journal::begin(std::move(*folder)) : Journal::begin_unnamed(std::move(*folder));
  return journal ? std::move(*journal) : Journal::refusing(journal.error());
}

class Run {
 public:
  Run(const RunSettings& settings, ForwardedSignals& signals, Journal journal, CpuSet allowed,
      std::vector<std::string> notes)
      : settings_(settings), signals_(signals), journal_(std::move(journal)), allowed_(std::move(allowed)) {
    summary_.notes = std::move(notes);
  }

  Result<Summary> launch();
  Result<Summary> attach();

 private:
  [[nodiscard]] std::optional<Plan> remembered() const;
  [[nodiscard]] bool preloads_masks(const Policy& policy, const ProgramFile* program) const;
  Status prepare_threads(const ProgramFile* program);
  void raise_priority();
  [[nodiscard]] std::int64_t trials_after() const;
  void begin_trials();
  Status ensure_guardian();
  void ensure_guardian_or_change_nothing();
  [[nodiscard]] bool changes_at_once() const;
  void watch_units();
  void plan_anew();
  [[nodiscard]] std::optional<machine::Topology>& topology() { return topologies_.back(); }
  [[nodiscard]] bool is_to_end() const;
  [[nodiscard]] bool placed_by_another(pid_t process);
  void oversee(Follower* follower, pid_t process);
  void begin_polling();
  void prepare(Follower& follower);
  void note_hand_over(const Follower& follower, std::int64_t now);
  void restore(Follower* follower);
  [[nodiscard]] bool pass_on(const signalfd_siginfo& signal, std::int64_t taken_ns);
  void note_if_to_end(const signalfd_siginfo& signal);
  void pass_on_output();
  Summary finish(Follower* follower);

  const RunSettings& settings_;
  ForwardedSignals& signals_;
  Journal journal_;
  CpuSet allowed_;
  Summary summary_;
  std::int64_t begun_ns_ = now_ns();
  // The current topology, once it was read, is first. Older ones stay behind it, because other threads may
  // still use them.
  std::list<std::optional<machine::Topology>> topologies_{std::nullopt};
  std::optional<ProgramMemory> memory_;
  std::optional<Reports> reports_;
  std::optional<MaskLibrary> masks_;  // preloaded into the program
  std::optional<Guardian> guardian_;
  const ChildProcess* program_ = nullptr;  // if it was launched
  ExecutedPrograms executed_;
  std::optional<ThreadRegister> threads_;
  std::optional<BirthWatch> births_;
  std::optional<Orphans> joined_orphans_;  // if the program was not launched
  std::optional<GroupWitness> witness_;
  std::optional<Overseer> overseer_;
  std::optional<UnitWatch> units_;
};

std::optional<Plan> Run::remembered() const {
  auto plan = memory_ ? memory_->plan() : std::nullopt;
  // The plan needs observation, which is not requested for every run.
  if (plan && plan->masks == MaskPolicy::units && settings_.units != UnitsMode::automatic) plan.reset();
  return plan;
}

// Why this process cannot trace what it starts; "" if no obstacle is known.
std::string no_tracing() {
  // If the tracer of this process follows its children, they would have two tracers.
  if (tracer_of(getpid()) != 0) return "millrace itself is being traced";
  const Status permitted = may_trace();
  return permitted ? "" : permitted.error().message;
}

// True if the program should be told its own masks (mask_library.h), and can load the library that does so.
// If main is pinned early, it may yet count the CPUs. A program that cannot be traced starts other programs
// without being stopped, so nothing else lets these begin with the mask that it was given.
bool Run::preloads_masks(const Policy& policy, const ProgramFile* program) const {
  const bool cannot_be_traced = settings_.birth == BirthWay::any && summary_.birth == BirthWay::polling;
  return (policy.traits().main_at_first_birth || cannot_be_traced) && program != nullptr && program->glibc &&
         !program->sanitized && !program->changes_user;
}

void Run::raise_priority() {
  if (!settings_.own_nice) return;
  const auto granted = set_own_nice(*settings_.own_nice);
  if (granted)
    summary_.own_nice = *granted;
  else
    summary_.notes.push_back(granted.error().message);
}

Status Run::prepare_threads(const ProgramFile* program) {
  Policy policy = with_attributes(settings_.policy.value_or(policy_of(remembered().value_or(Plan()))),
                                  settings_.scheduling_class, settings_.slice_ns);
  MachineState machine_state{.allowed = allowed_};
  // Reading the topology takes milliseconds. Without masks that can happen while the program runs.
  const bool masks = settings_.policy ? settings_.masks != MasksNeed::nothing
                                      : remembered() && remembered()->masks != MaskPolicy::none;
  if (masks) {
    const bool load = settings_.policy ? settings_.masks == MasksNeed::load
                                       : remembered()->masks == MaskPolicy::main_least_loaded;
    auto read = read_machine_state(allowed_, topology(), load);
    if (!read) return std::unexpected(read.error());
    machine_state = std::move(*read);
  }
  if (preloads_masks(policy, program))
    if (auto library = MaskLibrary::make(reports_ ? reports_->tap.for_program().second : -1))
      masks_.emplace(std::move(*library));
  threads_.emplace(std::move(machine_state), std::move(policy), journal_);
  if (masks_) {
    threads_->on_mask(
        [this](const CpuSet& mask, const CpuSet& original) { masks_->note_given(mask, original); });
    threads_->watch_spawning(masks_->spawning());
    threads_->ask_chosen([this](const CpuSet& mask) { return masks_->is_chosen(mask); });
    masks_->note_traced(summary_.birth == BirthWay::ptrace);
  }
  if (settings_.policy && settings_.masks == MasksNeed::load) threads_->watch_load();
  births_.emplace(*threads_, settings_.hand_over_ns);
  overseer_.emplace(*threads_, reports_ ? &reports_->reader : nullptr,
                    reports_ && settings_.progress.stream != ReportStream::none,
                    remembered().value_or(Plan()));
  return {};
}

std::int64_t Run::trials_after() const {
  if (remembered()) return known_program_ns;
  return units_ && units_->places() ? known_units_ns : short_program_ns;
}

// True if the first policy may change threads. Otherwise only trials and units do, after guardian_after_ns.
bool Run::changes_at_once() const {
  const auto plan = remembered();
  return settings_.policy || settings_.scheduling_class || settings_.slice_ns || (plan && !plan->untouched());
}

// A fork takes about as long as starting a small program.
Status Run::ensure_guardian() {
  if (guardian_) return {};
  auto guardian = Guardian::start(journal_);
  if (!guardian) return std::unexpected(guardian.error());
  guardian_.emplace(std::move(*guardian));
  // Until its journal had a name, another millrace could attach to the program.
  if (journal_.refuses() || !program_) return {};
  const Descriptor lock = lock_against_others(journal_);
  for (const auto& [process, unused] : journal_.content().processes)
    if (followed_by_another(journal_, process))
      return failure("process {} is followed by another millrace already", process.number);
  return {};
}

// Without a guardian, what is changed could stay when this process is killed.
void Run::ensure_guardian_or_change_nothing() {
  const Status guarded = ensure_guardian();
  if (guarded) return;
  threads_->change_nothing(guarded.error());
  guardian_.emplace(Guardian::none());
}

// Called once the program has run for a while, because it takes tens of milliseconds.
void Run::begin_trials() {
  ensure_guardian_or_change_nothing();
  auto machine_state = read_machine_state(allowed_, topology(), true);
  if (!machine_state) {
    summary_.notes.push_back(machine_state.error().message + "; no plans are tried");
    return;
  }
  threads_->set_machine_state(std::move(*machine_state));
  std::vector<Plan> candidates = candidate_plans(*topology(), allowed_, machine::default_slice_ns() != 0);
  if (units_ && units_->places()) candidates.insert(candidates.begin(), Plan{.masks = MaskPolicy::units});
  overseer_->try_plans(candidates, settings_.trials, remembered());
}

// Reading the topology takes some milliseconds, and the program must not wait for it.
void Run::watch_units() {
  if (!topology()) {
    auto live = machine::Topology::live();
    if (!live) {
      summary_.units = {.mode = settings_.units, .missing = live.error().message};
      return;
    }
    topology().emplace(std::move(*live));
  }
  units_.emplace(settings_.units, *threads_, *topology(), allowed_);
}

// The cpuset or the online CPUs have changed. Read the machine again, because new CPUs may have appeared.
void Run::plan_anew() {
  allowed_ = threads_->allowed();
  if (!topology()) return;
  auto live = machine::Topology::live();
  if (!live) {
    summary_.notes.push_back(live.error().message + "; threads are placed as on the machine at the start");
    return;
  }
  topologies_.emplace_back(std::move(*live));
  threads_->set_machine_state({.topology = &*topology(), .allowed = allowed_});
  if (units_) units_->set_machine(*topology(), allowed_);
}

// True if a pending signal will end this process once it is unblocked. It would have ended the program too,
// so the program must not begin.
bool Run::is_to_end() const {
  sigset_t waiting;
  sigpending(&waiting);
  return std::ranges::any_of(std::array{SIGINT, SIGQUIT, SIGTERM, SIGHUP}, [&](int signal) {
    return sigismember(&waiting, signal) == 1 && sigismember(&settings_.blocked_signals, signal) == 0 &&
           !settings_.ignored_signals.contains(signal);
  });
}

bool Run::placed_by_another(pid_t process) {
  if (settings_.units != UnitsMode::automatic || settings_.policy || !settings_.announce ||
      !settings_.announce(process))
    return false;
  threads_->set_policy(policy_of({}));
  if (units_) units_->leave_placing("the daemon places its threads");
  return true;
}

// Must be known before the first fork: a PID namespace ends with its first process.
Status children_can_be_followed() {
  if (children_leave_this_namespace())
    return failure(
        "processes started from here are in another PID namespace (unshare --pid without --fork), so "
        "they cannot be followed: add --fork");
  // This process is no child of its own.
  if (wait4(getpid(), nullptr, WNOHANG, nullptr) < 0 && errno != ECHILD)
    return failure("waiting for processes is not permitted here (wait4: {})", system_reason(errno));
  return {};
}

Result<Summary> Run::launch() {
  if (auto able = children_can_be_followed(); !able) return std::unexpected(able.error());
  if (signals_.descriptor() < 0) return failure("cannot take signals: not permitted here");
  const auto program = inspect_program(settings_.command.front());
  if (program && program->narrow)
    return usage_error("'{}' is a 32-bit program; millrace exec handles 64-bit programs: run it without",
                       settings_.command.front());
  summary_.program = settings_.command.front();
  BirthChoice choice = choose_birth_way(settings_.birth, program ? &*program : nullptr, no_tracing());
  summary_.birth = choice.way;
  summary_.birth_reason = std::move(choice.reason);
  if (!settings_.policy && settings_.profiles != nullptr && program)
    memory_.emplace(*settings_.profiles, *program, settings_.command, allowed_, summary_.notes);
  if (program) executed_.expect(*program);
  ProgressSettings progress = settings_.progress;
  if (!settings_.policy)
    progress = with_known_progress(std::move(progress), program ? &*program : nullptr, settings_.command);
  if (std::string reason = why_left_alone(progress, settings_.command); !reason.empty()) {
    if (settings_.progress.stream != ReportStream::none) summary_.notes.push_back(std::move(reason));
    progress.stream = ReportStream::none;
  }
  auto reports = read_along(progress);
  if (!reports) return std::unexpected(reports.error());
  reports_ = std::move(*reports);
  if (summary_.birth != BirthWay::ptrace || changes_at_once())
    if (Status guarded = ensure_guardian(); !guarded) return std::unexpected(guarded.error());

  if (auto ready = prepare_threads(program ? &*program : nullptr); !ready)
    return std::unexpected(ready.error());
  LaunchSettings launch{.command = settings_.command,
                        .blocked_signals = settings_.blocked_signals,
                        .ignored_signals = settings_.ignored_signals};
  if (masks_) {
    launch.environment = masks_->environment();
    launch.descriptors = masks_->descriptors();
  }
  if (reports_) launch.descriptors.push_back(reports_->tap.for_program());
  auto waiting = WaitingProgram::make(launch);
  if (!waiting) return std::unexpected(waiting.error());
  if (is_to_end()) return failure("a signal has arrived before '{}' began", settings_.command.front());
  if (reports_) reports_->tap.launched();
  raise_priority();  // not the program's, which is a separate process by now

  auto witness = GroupWitness::start();
  // Without a witness, signals to the group arrive twice.
  if (witness) witness_.emplace(std::move(*witness));
  // From here on, this process makes no other children.
  if (summary_.birth != BirthWay::ptrace) begin_polling();
  Follower follower(*threads_);
  prepare(follower);
  const auto launched = follower.launch(*waiting, summary_.birth == BirthWay::ptrace);
  if (!launched) return std::unexpected(launched.error());
  if (summary_.birth == BirthWay::ptrace && !launched->traced) {
    summary_.birth = BirthWay::polling;
    summary_.birth_reason = launched->not_traced;
    begin_polling();
  }
  summary_.startup_ms = static_cast<double>(launched->time_ns - begun_ns_) / 1e6;
  summary_.began = launched->exec_error == 0;
  if (!summary_.began)
    print_error("millrace", fmt::format("cannot run '{}': {}", settings_.command.front(),
                                        system_reason(launched->exec_error)));
  begun_ns_ = launched->time_ns;
  births_->program_begins(begun_ns_);
  program_ = &waiting->child();
  oversee(&follower, waiting->process());
  return finish(&follower);
}

Result<Summary> Run::attach() {
  if (auto able = children_can_be_followed(); !able) return std::unexpected(able.error());
  if (signals_.descriptor() < 0) return failure("cannot take signals: not permitted here");
  const pid_t process = *settings_.attach;
  if (process == getpid()) return usage_error("process {} is this one, which cannot join itself", process);
  if (const pid_t whole = process_of(process); whole != 0 && whole != process)
    return usage_error("{} is a thread of process {}: join that", process, whole);
  const auto stat = read_task_stat(process, process);
  if (!stat || stat->state == 'Z') return usage_error("there is no process {}", process);
  if (stat->of_kernel())
    return usage_error("process {} ({}) is a thread of the kernel, which is not touched", process,
                       stat->name);
  if (auto permitted = may_schedule(process, stat->name); !permitted)
    return std::unexpected(permitted.error());
  Descriptor lock = journal_.refuses() ? Descriptor() : lock_against_others(journal_);
  if (followed_by_another(journal_, {process, stat->start_time}))
    return failure("process {} ({}) is followed by another millrace already; end that first", process,
                   stat->name);
  if (const auto own = machine::thread_affinity(process)) allowed_ = *own;
  joined_orphans_ = Orphans::of_joined(process);
  summary_.program = fmt::format("process {} ({})", process, stat->name);
  summary_.birth = settings_.birth == BirthWay::any ? BirthWay::ptrace : settings_.birth;
  if (Status guarded = ensure_guardian(); !guarded) return std::unexpected(guarded.error());

  if (auto ready = prepare_threads(nullptr); !ready) return std::unexpected(ready.error());
  raise_priority();
  std::optional<Follower> follower;
  if (summary_.birth == BirthWay::ptrace) {
    follower.emplace(*threads_);
    prepare(*follower);
    if (const auto attached = follower->attach(process); !attached) {
      summary_.birth = BirthWay::polling;
      summary_.birth_reason = attached.error().message;
      follower.reset();
    }
  }
  if (!follower) {
    begin_polling();
    if (const auto known = threads_->process_began(process); !known) return std::unexpected(known.error());
  }
  lock.close();
  summary_.startup_ms = static_cast<double>(now_ns() - begun_ns_) / 1e6;
  begun_ns_ = now_ns();
  births_->program_begins(begun_ns_);
  oversee(follower ? &*follower : nullptr, process);
  return finish(follower ? &*follower : nullptr);
}

// From now on births are only found by polling.
void Run::begin_polling() {
  if (masks_) masks_->note_traced(false);
  if (joined_orphans_) return births_->begin_polling(*joined_orphans_);
  // Other children of this process count as the program's from now on.
  ensure_guardian_or_change_nothing();
  BirthPoller::take_orphans();
  births_->begin_polling(Orphans::of_launched({guardian_->process(), witness_ ? witness_->process() : -1}));
}

// The follower calls these in its own thread.
void Run::prepare(Follower& follower) {
  follower.on_exec([this](pid_t executed) { return executed_.must_not_be_traced(executed); });
  // Makers may end before it is noticed that tracing has ended.
  follower.on_hand_over([] { BirthPoller::take_orphans(); });
}

void Run::note_hand_over(const Follower& follower, std::int64_t now) {
  const auto why = [&] {
    switch (follower.let_go()) {
    case Tracer::LetGo::untraceable:
      return "when a program wanted to trace";
    case Tracer::LetGo::crowd:
      return "when there were too many threads to stop each at its birth";
    default:
      return "when births had ceased";
    }
  };
  summary_.birth_reason = fmt::format("by polling since {:.1f} s, {}", seconds(now - begun_ns_), why());
}

// Restores everything that descends from the program, including births under way.
void Run::restore(Follower* follower) {
  if (births_->polls()) births_->find_all();
  summary_.restored = threads_->restore();
  if (follower != nullptr) follower->stop();
  if (!births_->polls() && follower != nullptr && follower->let_go() != Tracer::LetGo::not_yet) {
    begin_polling();
    note_hand_over(*follower, now_ns());
  }
  // New threads get the state that their makers had.
  if (births_->polls()) births_->find_late_births();
  std::ranges::copy(executed_.notes(), std::back_inserter(summary_.notes));
}

// Records signals that ask to end, unless the program sent them itself.
void Run::note_if_to_end(const signalfd_siginfo& signal) {
  const auto number = static_cast<int>(signal.ssi_signo);
  const bool asks = number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP;
  if (asks && !settings_.ignored_signals.contains(number) &&
      (signal.ssi_code > 0 || !threads_->knows(static_cast<pid_t>(signal.ssi_pid))))
    summary_.asked_to_end_by = number;
}

// Returns false if this run should end.
bool Run::pass_on(const signalfd_siginfo& signal, std::int64_t taken_ns) {
  const auto number = static_cast<int>(signal.ssi_signo);
  if (settings_.attach) {
    // A signal that would end this process if it were not blocked ends the run.
    const bool harmless = number == SIGTSTP || number == SIGWINCH || number == SIGURG;
    return harmless || settings_.ignored_signals.contains(number);
  }
  note_if_to_end(signal);
  if (!is_for_program(signal, taken_ns, *threads_, witness_ ? &*witness_ : nullptr)) return true;
  // Passes on its value too. NOLINTNEXTLINE(performance-no-int-to-ptr): the value belongs to the program
  void* const value = reinterpret_cast<void*>(signal.ssi_ptr);
  if (signal.ssi_code != SI_QUEUE || !program_->kill(number, value)) program_->kill(number);
  return true;
}

// Runs until the program has ended or this run should end.
void Run::oversee(Follower* follower, pid_t process) {
  bool trials_to_begin = !settings_.policy;
  std::int64_t rest_until = 0;
  bool rests_long = false;
  if (settings_.units != UnitsMode::off) watch_units();
  if (placed_by_another(process)) trials_to_begin = false;
  while (true) {
    std::int64_t next = std::min(std::max(overseer_->next_ns(), rest_until), births_->next_ns());
    if (units_) next = std::min(next, units_->next_ns());
    if (!guardian_) next = std::min(next, begun_ns_ + guardian_after_ns);
    const std::int64_t wait_ms = std::max<std::int64_t>(0, (next - now_ns() + 999'999) / 1'000'000);
    std::array<pollfd, 3> ready = {
        pollfd{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = follower == nullptr ? -1 : follower->end_descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = reports_ && overseer_->awaits_report() ? reports_->tap.descriptor() : -1,
               .events = POLLIN,
               .revents = 0}};
    poll(ready.data(), ready.size(), static_cast<int>(wait_ms));
    if (ready[1].revents != 0) return;
    if (!guardian_ && now_ns() - begun_ns_ >= guardian_after_ns) ensure_guardian_or_change_nothing();
    std::vector<std::pair<signalfd_siginfo, std::int64_t>> taken;
    for (std::int64_t taken_ns = now_ns(); const auto signal = signals_.take(); taken_ns = now_ns())
      taken.emplace_back(*signal, taken_ns);
    for (const auto& [signal, taken_ns] : taken)
      if (!pass_on(signal, taken_ns)) return;
    const std::int64_t now = now_ns();
    if (follower != nullptr && births_->has_handed_over(*follower, now)) {
      begin_polling();
      note_hand_over(*follower, now);
    }
    if (reports_) reports_->reader.take(reports_->tap.take(), now);
    const bool reported = overseer_->awaits_report() && reports_->reader.time_ns() == now && !rests_long;
    const bool observes = reported || now >= std::max(overseer_->next_ns(), rest_until);
    if (observes) {
      if (trials_to_begin && now - begun_ns_ >= trials_after()) {
        begin_trials();
        trials_to_begin = false;
      }
      const std::int64_t rest = rest_after([this] { overseer_->tick(); });
      // Not counted as a look: reading the machine may take as long as hundreds of looks, and a long rest
      // would follow just when more CPUs may come or go.
      if (threads_->allowed() != allowed_) plan_anew();
      rests_long = rest > Overseer::observation_ns;
      rest_until = now + rest;
    }
    if (units_ && now >= units_->next_ns()) {
      ensure_guardian_or_change_nothing();
      units_->tick(overseer_->times());
    }
    // Combine them if the next look is soon: waking up costs as much as a look, and a look is best right
    // after an observation.
    const std::int64_t soon = observes ? Overseer::observation_ns / 2 : 0;
    if (now + soon < births_->next_ns()) continue;
    births_->look(now);
    if (settings_.attach) {
      const auto stat = read_task_stat(process, process);
      if (!stat || stat->state == 'Z') return;
    }
  }
}

// The reader of the output may be slow. Then this process ends later or when a signal asks it to,
// as the program itself would.
void Run::pass_on_output() {
  if (!reports_) return;
  const int before = std::exchange(summary_.asked_to_end_by, 0);
  std::optional<Status> passed;
  while (!(passed = reports_->tap.finish(signals_.descriptor())) && summary_.asked_to_end_by == 0)
    while (const auto signal = signals_.take())
      note_if_to_end(*signal);
  if (before != 0) summary_.asked_to_end_by = before;
  if (!passed || *passed) return;
  summary_.output_lost = reports_->tap.for_program().second == STDOUT_FILENO;
  summary_.loss = passed->error().message;
}

Summary Run::finish(Follower* follower) {
  if (units_) summary_.units = units_->finish();
  summary_.seconds = seconds(now_ns() - begun_ns_);
  // Includes signals that arrived just before the program's end.
  while (const auto signal = signals_.take())
    note_if_to_end(*signal);
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
  summary_.policy = settings_.policy_name;
  summary_.scheduling_class = settings_.scheduling_class;
  summary_.slice_ns = settings_.slice_ns;
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
  if (memory_) memory_->keep(summary_);
  pass_on_output();
  return std::move(summary_);
}

}  // namespace

Result<Summary> run_program(const RunSettings& settings) {
  if (settings.command.empty() == !settings.attach)
    return usage_error("name either a program to run or a process to attach to");
  if (auto permitted =
          may_give({.scheduling_class = settings.scheduling_class, .slice_ns = settings.slice_ns});
      !permitted)
    return std::unexpected(permitted.error());
  if (settings.own_nice)
    if (auto permitted = may_have_nice(*settings.own_nice); !permitted)
      return std::unexpected(permitted.error());
  auto allowed = machine::current_thread_affinity();
  if (!allowed) return std::unexpected(allowed.error());
  // If SIGCHLD were ignored, children could not be waited for.
  std::signal(SIGCHLD, SIG_DFL);
  // At the file size limit, writing a line then fails instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  Error error;
  {
    // Outlives the journal. Otherwise a signal could end this process and leave the journal behind.
    ForwardedSignals signals;
    std::vector<std::string> notes;
    Journal journal = begin_journal(settings, notes);
    Run run(settings, signals, std::move(journal), std::move(*allowed), std::move(notes));
    auto summary = settings.attach ? run.attach() : run.launch();
    if (summary || settings.attach || !settings.become_program) return summary;
    error = summary.error();
  }
  if (error.kind == ErrorKind::usage) return std::unexpected(error);
  // No process could be made to follow it. The program should not suffer for that.
  print_error("millrace", error.message + "; the program runs without");
  const int reason = become({.command = settings.command,
                             .environment = {},
                             .descriptors = {},
                             .blocked_signals = settings.blocked_signals,
                             .ignored_signals = settings.ignored_signals});
  return failure("cannot run '{}': {}", settings.command.front(), system_reason(reason));
}

}  // namespace millrace::placement
