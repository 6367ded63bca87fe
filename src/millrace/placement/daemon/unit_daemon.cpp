#include "millrace/placement/daemon/unit_daemon.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/printable.h"
#include "millrace/base/text/take_word.h"
#include "millrace/intensity/sample/thread_sampler.h"
#include "millrace/placement/daemon/other_tuner.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <dirent.h>
#include <set>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t between_finds_ns = 2 * second_ns;
constexpr std::int64_t between_looks_at_machine_ns = 5 * second_ns;
// With less CPU time, switches say nothing.
constexpr std::int64_t least_time_for_switches_ns = 50'000'000;
constexpr int number_bits = 32;
// About a second of CPU time. A process with one thread may yet derive the number of threads to make from its
// mask.
constexpr std::int64_t least_samples_alone = 100;

std::int64_t id_of(int program, int thread) {
  return (static_cast<std::int64_t>(program) << number_bits) | thread;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr)
    if (const auto number = parse_number<pid_t>(entry->d_name)) processes.push_back(*number);
  return processes;
}

// True if this process has the privilege to read other users' processes (CAP_SYS_PTRACE).
bool may_trace_others() {
  constexpr unsigned sys_ptrace = 19;
  constexpr std::string_view key = "CapEff:";
  const std::string text = read_system_file("/proc/self/status").value_or("");
  const std::size_t found = text.find(key);
  if (found == std::string::npos) return false;
  std::string_view rest = std::string_view(text).substr(found + key.size());
  const std::string_view word = take_word(rest);
  std::uint64_t capabilities = 0;
  constexpr int hexadecimal = 16;
  std::from_chars(word.data(), word.data() + word.size(), capabilities, hexadecimal);
  return (capabilities >> sys_ptrace & 1U) != 0;
}

}  // namespace

UnitDaemon::UnitDaemon(Options options)
    : options_(std::move(options)), own_user_(geteuid()), begun_ns_(now_ns()) {
  for (const DaemonRule& rule : options_.settings.include)
    rules_.push_back({rule, own_user_, true});
}

Result<std::unique_ptr<UnitDaemon>> UnitDaemon::begin(Options options) {
  // Restores whatever any run left in the folder.
  std::int64_t restored = 0;
  if (options.state) {
    const auto folder = StateFolder::open(*options.state);
    if (folder) restored = restore_left_behind(*folder).threads;
  }
  std::unique_ptr<UnitDaemon> daemon(new UnitDaemon(std::move(options)));
  daemon->restored_ = restored;
  if (auto read = daemon->read_machine(); !read) return std::unexpected(read.error());
  daemon->look_at_machine(now_ns());
  return daemon;
}

void UnitDaemon::find_lacks() {
  lacks_.clear();
  if (!proc_is_of_this_namespace())
    lacks_.emplace_back("watches nothing: /proc is not mounted, or is that of another PID namespace");
  if (const std::string why = intensity::why_no_sampling(); !why.empty())
    lacks_.push_back("does not see what threads use: " + why);
  const auto folder = options_.state ? StateFolder::open(*options_.state)
                                     : Result<StateFolder>(std::unexpected(options_.state.error()));
  if (!folder) lacks_.push_back("places nothing, as it could not be undone: " + folder.error().message);
  if (online_.empty())
    lacks_.push_back(
        fmt::format("does not see CPUs come and go, nor control groups: nothing can be read in {}",
                    options_.system.string()));
  // Root's daemon serves all users, but being root is not enough everywhere to read this.
  if (own_user_ == 0 && !may_trace_others())
    lacks_.emplace_back("does not see what processes of other users execute: patterns fit none of these");
}

std::string UnitDaemon::online_cpus() const {
  return read_system_file(options_.system / "devices/system/cpu/online").value_or("");
}

Status UnitDaemon::read_machine() {
  std::string online = online_cpus();
  auto topology = options_.topology();
  if (!topology) return std::unexpected(topology.error());
  online_ = std::move(online);
  board_.reset();
  topology_.emplace(std::move(*topology));
  board_.emplace(*topology_, options_.settings);
  constexpr std::size_t remember_none = 0;
  watch_.emplace(intensity::caches_of(*topology_, {}), topology_->cpus().count(), remember_none,
                 [this](const intensity::LivingThread& of, std::uint64_t address,
                        intensity::CodeBytes::Page& page) { return code_.read(of, address, page); });
  intensities_.clear();
  return {};
}

std::string UnitDaemon::places_nothing_as() const {
  if (paused_) return "it is paused";
  if (!others_place_.empty()) return others_place_;
  if (!options_.settings.believe_machine && !topology_->trust().fpu_groups_reliable())
    return topology_->trust().sentences().front();
  return "";
}

std::optional<std::int64_t> UnitDaemon::next_ns() const {
  if (programs_.empty() && rules_.empty()) return std::nullopt;
  return programs_.empty() ? std::max(next_look_ns_, next_find_ns_) : next_look_ns_;
}

void UnitDaemon::tick(std::int64_t now) {
  const std::int64_t before = thread_cpu_time_ns();
  if (!rules_.empty() && now >= next_find_ns_) {
    next_find_ns_ = now + between_finds_ns;
    find_processes();
  }
  if (now >= next_machine_ns_) look_at_machine(now);
  look_at_programs(now);
  if (now >= next_place_ns_) {
    next_place_ns_ = now + second_ns;
    join_anew();
    place(now);
  }
  // Paced to stay within its budget, however much there is to look at.
  constexpr double percent = 100;
  const double share = options_.settings.budget_percent / percent;
  const auto rest = static_cast<std::int64_t>(static_cast<double>(thread_cpu_time_ns() - before) / share);
  next_look_ns_ = now + std::clamp(rest, intensity::IntensityWatch::interval_ns, 30 * second_ns);
}

void UnitDaemon::look_at_programs(std::int64_t now) {
  std::vector<intensity::LivingThread> living;
  RunTimes times;
  for (auto& [number, program] : programs_) {
    program->look(now);
    times += program->times();
    for (const ThreadIdentity& thread : program->threads().identities())
      living.push_back({thread.thread, thread.process});
  }
  std::erase_if(programs_, [this](const auto& entry) {
    if (!entry.second->ended() && !entry.second->gone()) return false;
    note_ended(*entry.second);
    return true;
  });
  const RunTimes since = times - times_;
  if (since.run_ns >= least_time_for_switches_ns || since.run_ns < 0) {
    if (since.run_ns > 0) switches_ = static_cast<double>(since.turns) / seconds(since.run_ns);
    times_ = times;
  }
  watch_->look(living, now, switches_);
  std::set<pid_t> processes;
  for (const intensity::LivingThread& thread : living)
    processes.insert(thread.process);
  code_.keep_only(processes);
}

void UnitDaemon::note_ended(const WatchedProgram& program) {
  constexpr std::size_t most = 1000;
  std::pair<std::string, std::string> key{program.name(), program.start().traits.cgroup};
  if (ended_.size() >= most && !ended_.contains(key)) key = {"others", ""};
  Ended& ended = ended_[std::move(key)];
  ++ended.programs;
  ended.cpu_seconds += seconds(program.times().run_ns);
  ended.moves += program.threads().counts().changes;
}

void UnitDaemon::look_at_machine(std::int64_t now) {
  next_machine_ns_ = now + between_looks_at_machine_ns;
  others_place_ = other_tuner(options_.system);
  // CPUs came or went. If the machine cannot be read now, the old data are kept and it is read next time.
  if (online_cpus() != online_) std::ignore = read_machine();
  find_lacks();
}

void UnitDaemon::join_anew() {
  struct Changed {
    WatchedProgram::Start start;
    bool paused;
  };
  std::vector<Changed> changed;
  std::erase_if(programs_, [&](auto& entry) {
    WatchedProgram& program = *entry.second;
    if (!program.to_join_anew()) return false;
    const bool paused = program.paused();
    program.restore();
    auto start = program.start();
    auto traits = start.process == 0 ? std::optional(start.traits) : traits_of(start.process);
    // Checked last, so that the traits are of the same process.
    if (traits && program.is_still_there()) {
      start.traits = std::move(*traits);
      changed.push_back({std::move(start), paused});
    } else {
      note_ended(program);
    }
    return true;
  });
  for (auto& [start, paused] : changed) {
    const auto joined = follow(std::move(start), false);
    if (joined && paused) programs_.at(joined->at("program"))->act(false);
  }
}

void UnitDaemon::place(std::int64_t now) {
  intensities_ = watch_->threads();
  std::map<pid_t, const intensity::ThreadIntensity*> known;
  for (const auto& thread : intensities_)
    known[thread.thread] = &thread;
  std::vector<UnitThread> threads;
  const bool places = places_nothing_as().empty();
  for (const auto& [number, program] : programs_) {
    if (!places || !program->acts()) continue;
    const std::vector<ThreadIdentity> identities = program->threads().identities();
    std::map<pid_t, int> threads_of;
    for (const ThreadIdentity& thread : identities)
      ++threads_of[thread.process];
    for (const ThreadIdentity& thread : identities) {
      const auto found = known.find(thread.thread);
      if (thread.left_alone || found == known.end() || !found->second->demand) continue;
      if (threads_of[thread.process] == 1 && found->second->samples < least_samples_alone) continue;
      const auto stat = read_task_stat(thread.process, thread.thread);
      threads.push_back({.id = id_of(number, thread.number),
                         .demand = *found->second->demand,
                         .samples = found->second->samples,
                         .busy = found->second->busy,
                         .cpu = stat ? stat->cpu : -1,
                         .allowed = program->allowed()});
    }
  }
  std::map<int, std::map<int, machine::CpuSet>> masks;
  for (auto& [id, mask] : board_->step(threads, now))
    masks[static_cast<int>(id >> number_bits)].emplace(static_cast<int>(id & ((1LL << number_bits) - 1)),
                                                       mask);
  for (auto& [number, program] : programs_)
    program->keep_apart(std::move(masks[number]));
}

WatchedProgram* UnitDaemon::program_of(pid_t process) {
  for (auto& [number, program] : programs_)
    if (program->start().process == process || program->threads().knows(process)) return program.get();
  return nullptr;
}

void UnitDaemon::take_in(pid_t process, const ProcessTraits& traits) {
  for (const StandingRule& standing : rules_) {
    const bool may = standing.asked_by == 0 || standing.asked_by == traits.user;
    if (!may || !room_for(standing.asked_by)) continue;
    if (!(standing.of_settings ? standing.rule.fits(traits)
                               : fits_asked(standing, traits.exe).value_or(false)))
      continue;
    const auto users = users_of(process);
    if (!users || !users->all(traits.user)) return;
    std::ignore = follow({.process = process, .cgroup = {}, .traits = traits}, false);
    return;
  }
}

// Matches a client's rule. Returns nothing while that user's budget is used up.
std::optional<bool> UnitDaemon::fits_asked(const StandingRule& standing, const std::string& exe) {
  const std::int64_t now = now_ns();
  if (matching_.rests(standing.asked_by, now)) return std::nullopt;
  const std::int64_t before = thread_cpu_time_ns();
  const bool fitted = !exe.empty() && fits_pattern(standing.rule.exe, exe);
  matching_.charge(standing.asked_by, thread_cpu_time_ns() - before, now);
  return fitted;
}

// True if some rule may match a process with this executable. A client's rules are tried once per process,
// only on the client's own processes (root's on all), and only within the client's budget.
bool UnitDaemon::may_fit(pid_t process, const std::string& exe) {
  const auto fits = [&](const StandingRule& standing) {
    return standing.rule.exe.empty() || fits_pattern(standing.rule.exe, exe);
  };
  bool asked = false;
  for (const StandingRule& standing : rules_) {
    asked = asked || !standing.of_settings;
    if (standing.of_settings && fits(standing)) return true;
  }
  if (!asked) return false;
  const auto users = users_of(process);
  if (!users) return false;
  const Unfitting tried{.user = users->real, .exe = exe};
  if (const auto known = unfitting_.find(process); known != unfitting_.end() && known->second == tried)
    return false;
  bool all_tried = true;
  for (const StandingRule& standing : rules_) {
    if (standing.of_settings || (standing.asked_by != 0 && standing.asked_by != users->real)) continue;
    const auto fitted = fits_asked(standing, exe);
    if (fitted.value_or(false)) return true;
    all_tried = all_tried && fitted;
  }
  if (all_tried) unfitting_[process] = tried;
  return false;
}

void UnitDaemon::find_processes() {
  std::erase_if(unwatched_, [](const auto& entry) {
    const auto stat = read_task_stat(entry.first, entry.first);
    return !stat || stat->start_time != entry.second;
  });
  std::set<pid_t> followed;
  for (const auto& [number, program] : programs_)
    for (const pid_t process : program->threads().processes())
      followed.insert(process);
  const std::vector<pid_t> processes = all_processes();
  const std::set<pid_t> there(processes.begin(), processes.end());
  std::erase_if(unfitting_, [&](const auto& entry) { return !there.contains(entry.first); });
  for (const pid_t process : processes) {
    if (followed.contains(process) || unwatched_.contains(process) || process == getpid()) continue;
    // Most match nothing, so only their path is read.
    const std::string exe = exe_of(process);
    if (exe.empty() || !may_fit(process, exe)) continue;  // kernel threads have no executable
    const auto traits = traits_of(process);
    if (traits && program_of(process) == nullptr) take_in(process, *traits);
  }
}

Restored UnitDaemon::end() {
  Restored sum;
  for (auto& [number, program] : programs_) {
    const Restored restored = program->restore();
    sum.threads += restored.threads;
    sum.failed += restored.failed;
  }
  programs_.clear();
  return sum;
}

}  // namespace millrace::placement
