// UnitDaemon's replies: who may request what, and what they are told.
#include "millrace/base/error/clock.h"
#include "millrace/base/text/printable.h"
#include "millrace/placement/daemon/unit_daemon.h"
#include "millrace/version.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

using nlohmann::json;
using Method = DaemonRequest::Method;
using machine::SharedUnit;

constexpr std::string_view hierarchies_folder = "/sys/fs/cgroup";

double four_digits(double share) {
  constexpr double rounding = 1e4;
  return std::round(share * rounding) / rounding;
}

std::string line_of(const json& reply) {
  return reply.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// A control group, however it was named in the request.
struct ControlGroup {
  std::string folder;  // empty if there is no such group
  std::string path;    // within its hierarchy, as in /proc/PID/cgroup and in rules; "/" for everything
};

// In version 2, or in the first hierarchy that has it.
ControlGroup control_group(const std::string& path) {
  constexpr std::array<std::string_view, 7> hierarchies{"",        "/unified", "/systemd", "/pids",
                                                        "/cpuset", "/cpu",     "/memory"};
  // Only the cgroup file system is accessed, whatever a client sends: a user's own file system might block.
  const bool whole = path.starts_with(hierarchies_folder);
  const std::string below = "/" + (whole ? path.substr(hierarchies_folder.size()) : path);
  const std::string normal = std::filesystem::path(below).lexically_normal();
  for (const std::string_view hierarchy : hierarchies) {
    std::error_code error;
    const auto folder =
        std::filesystem::canonical(fmt::format("{}{}{}", hierarchies_folder, hierarchy, normal), error);
    if (error || !folder.string().starts_with(hierarchies_folder) ||
        !std::filesystem::exists(folder / "cgroup.procs", error))
      continue;
    std::string within = folder.string().substr(hierarchies_folder.size());
    // If the mount itself is not a group, each folder in it is a hierarchy.
    if (!std::filesystem::exists(std::filesystem::path(hierarchies_folder) / "cgroup.procs", error))
      within.erase(0, std::min(within.find('/', 1), within.size()));
    return {.folder = folder.string(), .path = within.empty() ? "/" : within};
  }
  return {};
}

}  // namespace

std::string UnitDaemon::answer(std::string_view line, const Peer& peer, const Descriptor& process) {
  const auto request = parse_daemon_request(line);
  const Reply answered = request ? reply(*request, peer, process) : Reply(std::unexpected(request.error()));
  if (answered) return line_of({{"parameters", *answered}});
  ++refused_;
  return line_of({{"error", answered.error().error},
                  {"parameters", {{"message", printable(answered.error().message)}}}});
}

UnitDaemon::Reply UnitDaemon::reply(const DaemonRequest& request, const Peer& peer,
                                    const Descriptor& process) {
  switch (request.method) {
  case Method::info:
    return info();
  case Method::watch:
    if (!request.target.cgroup.empty()) return watch_cgroup(request.target.cgroup, peer);
    if (!request.target.exe.empty()) return watch_exe(request.target.exe, peer);
    return watch_process(request, peer, process);
  case Method::announce:
    return watch_process(request, peer, process);
  case Method::unwatch:
    return unwatch(request.target, peer);
  case Method::status:
    return status(peer.user, request.threads);
  case Method::explain:
    return explain(request.program, peer);
  case Method::pause:
    break;
  }
  return pause(request, peer);
}

UnitDaemon::Reply UnitDaemon::info() const {
  return json{{"vendor", "millrace"},
              {"product", "millrace daemon"},
              {"version", MILLRACE_VERSION},
              {"url", "docs/daemon.md"},
              {"interfaces", {"org.varlink.service", daemon_interface}}};
}

bool UnitDaemon::may_see(uid_t user, const WatchedProgram& program) const {
  return user == 0 || user == own_user_ || user == program.start().traits.user;
}

DaemonResult<void> UnitDaemon::room_for(uid_t user) const {
  const auto of_user = std::ranges::count_if(
      programs_, [&](const auto& entry) { return entry.second->start().traits.user == user; });
  const auto rules_of_user = std::ranges::count_if(
      rules_, [&](const StandingRule& rule) { return !rule.of_settings && rule.asked_by == user; });
  const auto most = static_cast<std::ptrdiff_t>(most_for_user);
  if (programs_.size() >= most_programs)
    return refuse(DaemonError::too_many, "{} programs are watched already", programs_.size());
  if (user != 0 && user != own_user_ && (of_user >= most || rules_of_user >= most))
    return refuse(DaemonError::too_many, "user {} has {} programs watched already", user, most);
  return {};
}

UnitDaemon::Reply UnitDaemon::told(const WatchedProgram& program) const {
  return json{{"program", program.start().number},
              {"name", printable(program.name())},
              {"acts", program.acts() && places_nothing_as().empty()}};
}

UnitDaemon::Reply UnitDaemon::follow(WatchedProgram::Start start, bool announced) {
  if (DaemonSettings::first_of(options_.settings.exclude, start.traits) != nullptr)
    return refuse(DaemonError::excluded, "the settings of the daemon exclude {}",
                  start.process != 0 ? start.traits.exe : start.traits.cgroup);
  start.number = next_number_++;
  start.exclude = options_.settings.exclude;
  start.acts = options_.settings.acts_on(start.traits);
  start.judge = options_.settings.judge && options_.settings.rule != DaemonSettings::Rule::workover;
  start.trials = options_.trials;
  auto program = WatchedProgram::begin(std::move(start), options_.state, announced);
  if (!program) return refuse(DaemonError::failed, "{}", program.error().message);
  if (paused_) (*program)->act(false);
  const int number = (*program)->start().number;
  next_look_ns_ = 0;
  return told(*programs_.emplace(number, std::move(*program)).first->second);
}

UnitDaemon::Reply UnitDaemon::watch_process(const DaemonRequest& request, const Peer& peer,
                                            const Descriptor& process) {
  const pid_t asked = *request.target.process;
  if (!process.is_open())
    return refuse(DaemonError::invalid, "a descriptor of process {} (pidfd) must come with the line", asked);
  const auto meant = process_meant_by(process.get());
  if (meant != asked)
    return refuse(DaemonError::not_found, "the descriptor does not mean process {}, or that has ended",
                  asked);
  if (asked == getpid()) return refuse(DaemonError::not_permitted, "the daemon does not watch itself");
  const auto users = users_of(asked);
  auto traits = traits_of(asked);
  // Checked again, because the traits are valid only if the process was still there.
  if (!users || !traits || process_meant_by(process.get()) != asked)
    return refuse(DaemonError::not_found, "process {} has ended", asked);
  if (peer.user != 0 && !users->all(peer.user))
    return refuse(DaemonError::not_permitted,
                  "process {} does not belong to user {}: only its user, and root, may have it watched",
                  asked, peer.user);
  if (own_user_ != 0 && !users->all(own_user_))
    return refuse(DaemonError::not_permitted, "process {} belongs to another user than this daemon", asked);
  if (const WatchedProgram* known = program_of(asked)) return told(*known);
  unwatched_.erase(asked);
  if (auto room = room_for(peer.user); !room) return std::unexpected(room.error());
  auto followed = follow({.process = asked, .cgroup = {}, .traits = std::move(*traits)},
                         request.method == Method::announce);
  // It was joined by number. If the number belonged to another process by then, that one is restored at once.
  if (followed && process_meant_by(process.get()) != asked) {
    std::erase_if(programs_, [&](const auto& entry) { return entry.second->start().process == asked; });
    return refuse(DaemonError::not_found, "process {} has ended", asked);
  }
  return followed;
}

UnitDaemon::Reply UnitDaemon::watch_cgroup(const std::string& path, const Peer& peer) {
  const auto [folder, within] = control_group(path);
  if (folder.empty()) return refuse(DaemonError::not_found, "there is no control group {}", path);
  for (const auto& [number, program] : programs_)
    if (program->start().cgroup == folder && program->start().traits.user == peer.user) return told(*program);
  if (auto room = room_for(peer.user); !room) return std::unexpected(room.error());
  return follow({.process = 0,
                 .cgroup = folder,
                 .traits = {.user = peer.user, .exe = {}, .cgroup = within},
                 .any_user = peer.user == 0},
                false);
}

UnitDaemon::Reply UnitDaemon::watch_exe(const std::string& pattern, const Peer& peer) {
  if (auto room = room_for(peer.user); !room) return std::unexpected(room.error());
  const StandingRule rule{.rule = {.exe = pattern, .cgroup = {}}, .asked_by = peer.user};
  const bool known = std::ranges::any_of(rules_, [&](const StandingRule& other) {
    return other.rule == rule.rule && other.asked_by == rule.asked_by;
  });
  if (!known) {
    rules_.push_back(rule);
    unfitting_.clear();
  }
  next_find_ns_ = 0;
  next_look_ns_ = 0;
  return json{{"rule", pattern}};
}

UnitDaemon::Reply UnitDaemon::unwatch(const DaemonTarget& target, const Peer& peer) {
  const auto meant = [&](const WatchedProgram& program) {
    if (!may_see(peer.user, program)) return false;
    if (target.process) return program.start().process == *target.process;
    if (!target.exe.empty()) return fits_pattern(target.exe, program.start().traits.exe);
    return !program.start().cgroup.empty() && program.start().cgroup == control_group(target.cgroup).folder;
  };
  auto gone = std::erase_if(programs_, [&](const auto& entry) {
    if (!meant(*entry.second)) return false;
    note_ended(*entry.second);
    const pid_t process = entry.second->start().process;
    // Keeps a matching rule from taking it in again.
    const auto stat = rules_.empty() ? std::nullopt : read_task_stat(process, process);
    if (stat) unwatched_[process] = stat->start_time;
    return true;
  });
  gone += std::erase_if(rules_, [&](const StandingRule& rule) {
    return !rule.of_settings && !target.exe.empty() && rule.rule.exe == target.exe &&
           (peer.user == 0 || rule.asked_by == peer.user);
  });
  if (gone == 0)
    return refuse(DaemonError::not_found, "nothing of the kind is watched for user {}", peer.user);
  return json{{"ended", gone}};
}

UnitDaemon::Reply UnitDaemon::explain(const std::string& name, const Peer& peer) const {
  json found = json::array();
  for (const auto& [number, program] : programs_)
    if (may_see(peer.user, *program) && (name == std::to_string(program->start().process) ||
                                         name == program->name() || name == program->start().traits.cgroup))
      found.push_back(program_json(*program, true));
  if (found.empty())
    return refuse(DaemonError::not_found, "no program {} is watched for user {}", name, peer.user);
  return json{{"programs", found}};
}

UnitDaemon::Reply UnitDaemon::pause(const DaemonRequest& request, const Peer& peer) {
  const DaemonTarget& target = request.target;
  if (target.none()) {
    if (peer.user != 0 && peer.user != own_user_)
      return refuse(DaemonError::not_permitted, "user {} may pause own programs only: give a PID", peer.user);
    paused_ = !request.resume;
  }
  int count = 0;
  for (auto& [number, program] : programs_) {
    const bool meant =
        target.none() ||
        (target.process        ? program->start().process == *target.process
         : !target.exe.empty() ? fits_pattern(target.exe, program->start().traits.exe)
                               : program->start().cgroup == control_group(target.cgroup).folder);
    if (!meant || !may_see(peer.user, *program)) continue;
    program->act(request.resume && options_.settings.acts_on(program->start().traits));
    ++count;
  }
  if (count == 0 && !target.none())
    return refuse(DaemonError::not_found, "nothing of the kind is watched for user {}", peer.user);
  return json{{"programs", count}};
}

json UnitDaemon::program_json(const WatchedProgram& program, bool threads) const {
  std::map<pid_t, const intensity::ThreadIntensity*> known;
  for (const auto& thread : intensities_)
    known[thread.thread] = &thread;
  double busy = 0;
  machine::Demand demand;
  json list = json::array();
  int left_alone = 0;
  for (const ThreadIdentity& thread : program.threads().identities()) {
    const auto found = known.find(thread.thread);
    const intensity::ThreadIntensity* const seen = found == known.end() ? nullptr : found->second;
    const bool has_demand = seen != nullptr && seen->demand.has_value();
    if (has_demand) {
      busy += seen->busy;
      for (const SharedUnit unit : machine::all_shared_units)
        demand[unit] += seen->busy * (*seen->demand)[unit];
    }
    left_alone += thread.left_alone ? 1 : 0;
    if (!threads) continue;
    const auto stat = read_task_stat(thread.process, thread.thread);
    const auto now = read_original(thread.thread);
    const bool bound = now && now->mask != thread.original && !thread.left_alone;
    list.push_back({{"thread", thread.thread},
                    {"process", thread.process},
                    {"name", printable(seen != nullptr ? seen->name : thread.name)},
                    {"busy", seen == nullptr ? json(nullptr) : json(four_digits(seen->busy))},
                    {"samples", seen == nullptr ? 0 : seen->samples},
                    {"footprint_bytes", seen == nullptr ? 0 : seen->footprint_bytes},
                    {"demand", has_demand ? demand_json(*seen->demand) : json(nullptr)},
                    {"cpu", stat ? json(stat->cpu) : json(nullptr)},
                    {"kept_on", bound ? json(now->mask.to_string()) : json(nullptr)},
                    {"left_alone", thread.left_alone}});
  }
  for (const SharedUnit unit : machine::all_shared_units)
    demand[unit] = busy > 0 ? demand[unit] / busy : 0;
  const RegisterCounts counts = program.threads().counts();
  const auto judgement = program.judgement();
  const UnitsBoard::Part* const part = program.acts() ? board_->part_of(program.allowed()) : nullptr;
  const std::string nothing_as =
      program.changes_nothing() ? "what would be changed could not be undone" : places_nothing_as();
  const std::string reason = program.paused()      ? "Only observed: it is paused."
                             : !program.acts()     ? "Only observed: the settings do not say act."
                             : !nothing_as.empty() ? "Only observed: " + nothing_as
                             : part != nullptr     ? part->reason
                                                   : "Not yet known what its threads use.";
  json told{
      {"program", program.start().number},
      {"name", printable(program.name())},
      {"exe", printable(program.start().traits.exe)},
      {"cgroup", printable(program.start().traits.cgroup)},
      {"user", program.start().traits.user},
      {"threads", program.threads().alive()},
      {"left_alone", left_alone},
      {"busy", four_digits(busy)},
      {"cpu_seconds", seconds(program.times().run_ns)},
      {"demand", busy > 0 ? demand_json(demand) : json(nullptr)},
      {"allowed", program.allowed().to_string()},
      {"state", name_of(nothing_as.empty() ? judgement.state : WatchedProgram::Judgement::State::observed)},
      {"reason", printable(reason)},
      {"trouble", printable(program.trouble())},
      {"gain_predicted", part == nullptr ? json(nullptr) : json(four_digits(part->gain))},
      {"gain_measured", judgement.gain ? json(four_digits(*judgement.gain)) : json(nullptr)},
      {"moves", counts.changes},
      {"refused", counts.refused},
      {"events", judgement.events}};
  if (program.start().process != 0) told["pid"] = program.start().process;
  if (threads) told["thread_list"] = std::move(list);
  return told;
}

json UnitDaemon::status(uid_t user, bool threads) const {
  json programs = json::array();
  for (const auto& [number, program] : programs_)
    if (may_see(user, *program)) programs.push_back(program_json(*program, threads));
  json rules = json::array();
  for (const StandingRule& rule : rules_)
    if (user == 0 || user == own_user_ || user == rule.asked_by)
      rules.push_back(
          {{"exe", rule.rule.exe}, {"cgroup", rule.rule.cgroup}, {"of_settings", rule.of_settings}});
  json ended = json::array();
  if (user == 0 || user == own_user_)
    for (const auto& [key, sum] : ended_)
      ended.push_back({{"name", printable(key.first)},
                       {"cgroup", printable(key.second)},
                       {"programs", sum.programs},
                       {"cpu_seconds", sum.cpu_seconds},
                       {"moves", sum.moves}});
  json groups = json::array();
  for (const machine::CpuSet& group : topology_->fpu_groups())
    groups.push_back(group.to_string());
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const double passed = seconds(now_ns() - begun_ns_);
  json lacks = json::array();
  for (const std::string& lack : lacks_)
    lacks.push_back(printable(lack));
  return {{"daemon",
           {{"pid", getpid()},
            {"user", own_user_},
            {"version", MILLRACE_VERSION},
            {"seconds", passed},
            {"cpu_seconds", seconds(nanoseconds(cpu))},
            {"paused", paused_},
            {"source", name_of(watch_->source())},
            {"lacks", lacks},
            {"missing", printable(watch_->missing())},
            {"places_nothing_as", printable(places_nothing_as())},
            {"requests_refused", refused_},
            {"restored_at_start", restored_}}},
          {"groups", groups},
          {"rules", rules},
          {"programs", programs},
          {"ended", ended}};
}

}  // namespace millrace::placement
