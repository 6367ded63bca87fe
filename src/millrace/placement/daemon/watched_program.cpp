#include "millrace/placement/daemon/watched_program.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"
#include "millrace/intensity/sample/code_reader.h"
#include "millrace/machine/limits/open_cpus.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/guardian.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/run/summary.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

// A journal with this many processes is rewritten without those that have ended.
constexpr std::size_t many_processes = 1024;
constexpr int deepest_group = 16;
constexpr std::size_t most_members = 4096;

const Plan by_units_plan{.masks = MaskPolicy::units};

Journal begin_journal(const Result<std::filesystem::path>& state, std::string& trouble) {
  auto folder = state ? StateFolder::open(*state) : Result<StateFolder>(std::unexpected(state.error()));
  auto journal =
      folder ? Journal::begin(std::move(*folder)) : Result<Journal>(std::unexpected(folder.error()));
  if (journal) return std::move(*journal);
  trouble = journal.error().message;
  return Journal::refusing(journal.error());
}

// The control groups of a program's first process, or its own group, with their open CPUs.
std::string confinement_of(const WatchedProgram::Start& start) {
  if (start.process == 0) return machine::open_cpus_of_group(start.cgroup).to_string();
  return read_system_file(fmt::format("/proc/{}/cgroup", start.process)).value_or("") +
         machine::open_cpus(start.process).to_string();
}

// The CPUs that the program may use; nothing if it is gone.
std::optional<machine::CpuSet> allowed_to(const WatchedProgram::Start& start) {
  if (start.process == 0)
    if (auto open = machine::open_cpus_of_group(start.cgroup); !open.empty()) return open;
  auto allowed = machine::thread_affinity(start.process);
  return allowed ? std::optional(std::move(*allowed)) : std::nullopt;
}

// This process, its guardian and its code readers. A process with one of these names counts only if it
// descends from this one. The workers of a code reader are its children and have its name.
bool is_of_daemon(pid_t process) {
  if (process == getpid()) return true;
  const auto stat = read_task_stat(process, process);
  if (!stat || (stat->name != guardian_name && stat->name != intensity::code_reader_name)) return false;
  if (stat->parent == getpid()) return true;
  const auto parent = read_task_stat(stat->parent, stat->parent);
  return parent && parent->parent == getpid() && parent->name == intensity::code_reader_name;
}

// The processes of a control group and of those below it.
void list_members(const std::filesystem::path& folder, int depth, std::vector<pid_t>& members) {
  const auto text = read_system_file(folder / "cgroup.procs");
  if (!text) return;
  std::string_view rest = *text;
  for (auto word = take_word(rest); !word.empty() && members.size() < most_members; word = take_word(rest))
    if (const auto number = parse_number<pid_t>(word); number && *number > 0) members.push_back(*number);
  if (depth >= deepest_group) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_directory(error) && !entry->is_symlink(error))
      list_members(entry->path(), depth + 1, members);
}

}  // namespace

WatchedProgram::WatchedProgram(Start start, Journal journal)
    : start_(std::move(start)), journal_(std::move(journal)) {}

Result<std::unique_ptr<WatchedProgram>>
WatchedProgram::begin(Start start, const Result<std::filesystem::path>& state, bool announced) {
  std::string trouble;
  std::unique_ptr<WatchedProgram> program(
      new WatchedProgram(std::move(start), begin_journal(state, trouble)));
  program->trouble_ = std::move(trouble);
  const pid_t process = program->start_.process;
  // Read before the CPUs and the masks: whatever changes meanwhile is then noticed as a change.
  program->confinement_ = program->confinement_seen_ = confinement_of(program->start_);
  auto allowed = allowed_to(program->start_);
  if (!allowed) return failure("there is no process {}", process);
  program->allowed_ = std::move(*allowed);
  program->name_ = program->start_.traits.cgroup;
  if (process != 0) {
    const auto stat = read_task_stat(process, process);
    if (!stat || stat->state == 'Z') return failure("there is no process {}", process);
    if (stat->of_kernel())
      return failure("process {} ({}) is a thread of the kernel, which is not touched", process, stat->name);
    if (!announced && followed_by_another(program->journal_, {process, stat->start_time}))
      return failure("process {} ({}) is followed by another millrace already", process, stat->name);
    program->name_ = stat->name;
    program->executes_ = exe_of(process);
    program->began_ = stat->start_time;
  }
  program->threads_.emplace(MachineState{.allowed = program->allowed_}, policy_of({}), program->journal_);
  program->births_.emplace(*program->threads_);
  program->births_->follow_only([own = program.get()](pid_t born) { return own->is_own(born); });
  if (process != 0) {
    program->births_->look_for(Orphans::of_joined(process));
    if (auto known = program->threads_->process_began(process); !known) return std::unexpected(known.error());
  }
  program->find_births();
  program->act(program->start_.acts);
  return program;
}

bool WatchedProgram::is_own(pid_t process) const {
  if (is_of_daemon(process)) return false;
  if (!start_.exclude.empty()) {
    const auto traits = traits_of(process);
    if (!traits || DaemonSettings::first_of(start_.exclude, *traits) != nullptr) return false;
  }
  const auto users = users_of(process);
  return users && (start_.any_user || users->all(start_.traits.user));
}

void WatchedProgram::find_births() {
  if (!start_.cgroup.empty()) {
    std::vector<pid_t> members;
    list_members(start_.cgroup, 0, members);
    for (const pid_t process : members) {
      if (threads_->knows(process) || !is_own(process)) continue;
      const auto stat = read_task_stat(process, process);
      if (!stat || stat->of_kernel() || followed_by_another(journal_, {process, stat->start_time})) continue;
      std::ignore = threads_->process_began(process);
    }
  }
  births_->poll_if_any_ran();
  if (journal_.content().processes.size() > many_processes && !journal_.refuses())
    std::ignore = journal_.forget_ended();
}

void WatchedProgram::look(std::int64_t now_ns) {
  find_births();
  if (!overseer_) {
    times_ = threads_->observe();
    return;
  }
  if (now_ns < overseer_->next_ns()) return;
  overseer_->tick();
  times_ = overseer_->times();
  if (!overseer_->unjudged()) return;
  unjudged_ = true;
  overseer_.reset();
}

void WatchedProgram::keep_apart(std::map<int, machine::CpuSet> masks) {
  if (!acts_) return;
  const bool any = !masks.empty();
  threads_->set_by_unit(std::move(masks));
  if (any && start_.judge && !overseer_ && !unjudged_) begin_judging();
}

// Trials begin at the first mask; before that, both plans would be the same.
void WatchedProgram::begin_judging() {
  overseer_.emplace(*threads_, nullptr, false, Plan());
  overseer_->judge_single_threads();
  overseer_->try_plans({by_units_plan}, start_.trials, std::nullopt);
}

void WatchedProgram::act(bool acts) {
  if (std::exchange(acts_, acts) == acts) return;
  overseer_.reset();
  threads_->set_by_unit({});
  threads_->set_policy(policy_of(acts && !start_.judge ? by_units_plan : Plan()));
}

Restored WatchedProgram::restore() {
  if (!threads_ || std::exchange(restored_, true)) return {};
  acts_ = false;
  overseer_.reset();
  return threads_->restore();
}

std::string WatchedProgram::trouble() const {
  const std::string why = trouble_.empty() ? threads_->counts().not_journalled : trouble_;
  return why.empty() ? "" : "nothing is changed that could not be undone: " + why;
}

bool WatchedProgram::gone() const {
  std::error_code error;
  return !start_.cgroup.empty() && !std::filesystem::exists(start_.cgroup, error);
}

bool WatchedProgram::to_join_anew() {
  if (journal_.is_lost() || !is_still_there() || (start_.process != 0 && exe_of(start_.process) != executes_))
    return true;
  // When CPUs come or go, the kernel changes the masks of a program one after the other. Some of them, read
  // meanwhile, would look like the program's own.
  std::string now = confinement_of(start_);
  const bool at_rest = now == confinement_seen_;
  confinement_seen_ = std::move(now);
  return at_rest && confinement_seen_ != confinement_;
}

bool WatchedProgram::is_still_there() const {
  if (start_.process == 0) return !gone();
  const auto stat = read_task_stat(start_.process, start_.process);
  return stat && stat->state != 'Z' && stat->start_time == began_ && is_own(start_.process);
}

WatchedProgram::Judgement WatchedProgram::judgement() const {
  using State = Judgement::State;
  Judgement judgement;
  if (!acts_) return judgement;
  if (!start_.judge || unjudged_ || !overseer_) {
    judgement.state = !start_.judge ? State::at_once : unjudged_ ? State::unjudged : State::waiting;
    return judgement;
  }
  Summary summary;
  overseer_->finish(summary);
  for (const TrialEvent& event : summary.events)
    judgement.events.push_back(to_string(event));
  if (summary.gain) judgement.gain = std::expm1(summary.gain->mean);
  judgement.state = !summary.plan.untouched() ? State::kept : summary.learnt ? State::dropped : State::trying;
  return judgement;
}

std::string_view name_of(WatchedProgram::Judgement::State state) {
  using State = WatchedProgram::Judgement::State;
  switch (state) {
  case State::at_once:
    return "placed at once";
  case State::waiting:
    return "not in conflict";
  case State::trying:
    return "being tried";
  case State::kept:
    return "placed";
  case State::dropped:
    return "no gain";
  case State::unjudged:
    return "not judged";
  case State::observed:
    break;
  }
  return "observed";
}

}  // namespace millrace::placement
