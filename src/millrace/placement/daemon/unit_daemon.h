// UnitDaemon: the watched programs, what is known of their threads, and their placement.
//
// It makes no threads and never blocks. The caller calls tick() when next_ns() has come, and answer() for
// each line from a client.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/intensity/sample/code_reader.h"
#include "millrace/intensity/watch/intensity_watch.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/daemon/daemon_request.h"
#include "millrace/placement/daemon/daemon_settings.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/daemon/units_board.h"
#include "millrace/placement/daemon/user_budget.h"
#include "millrace/placement/daemon/watched_program.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// Not thread-safe.
class UnitDaemon {
 public:
  struct Options {
    DaemonSettings settings;
    Result<std::filesystem::path> state;  // the journals' folder, or why there is none
    // Reads the machine's topology; called again if the online CPUs have changed.
    std::function<Result<machine::Topology>()> topology = machine::Topology::live;
    std::filesystem::path system = "/sys";  // root of sysfs, which lists the online CPUs
    TrialOptions trials;
  };
  static constexpr std::size_t most_programs = 512;
  static constexpr std::size_t most_for_user = 64;  // programs, and standing rules, of a user other than root

  // Fails if the topology cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<UnitDaemon>> begin(Options options);

  // Returns the reply to a client's line, also a line. process: the descriptor that came with it.
  [[nodiscard]] std::string answer(std::string_view line, const Peer& peer, const Descriptor& process);
  void tick(std::int64_t now_ns);
  // When to call tick(); empty: not before a client requests something.
  [[nodiscard]] std::optional<std::int64_t> next_ns() const;
  // What it cannot do on this system, one sentence each.
  [[nodiscard]] const std::vector<std::string>& lacks() const { return lacks_; }
  // What `user` may see, as Status answers.
  [[nodiscard]] nlohmann::json status(uid_t user, bool threads) const;
  // Restores every thread and stops following.
  Restored end();

 private:
  // Watches matching processes as they appear.
  struct StandingRule {
    DaemonRule rule;
    uid_t asked_by = 0;
    bool of_settings = false;
  };
  // Totals of the ended programs with the same name and control group.
  struct Ended {
    int programs = 0;
    double cpu_seconds = 0;
    int moves = 0;
  };
  using Program = std::unique_ptr<WatchedProgram>;
  using Reply = DaemonResult<nlohmann::json>;

  explicit UnitDaemon(Options options);
  [[nodiscard]] Reply reply(const DaemonRequest& request, const Peer& peer, const Descriptor& process);
  [[nodiscard]] Reply info() const;
  [[nodiscard]] Reply watch_process(const DaemonRequest& request, const Peer& peer,
                                    const Descriptor& process);
  [[nodiscard]] Reply watch_cgroup(const std::string& path, const Peer& peer);
  [[nodiscard]] Reply watch_exe(const std::string& pattern, const Peer& peer);
  [[nodiscard]] Reply unwatch(const DaemonTarget& target, const Peer& peer);
  [[nodiscard]] Reply explain(const std::string& program, const Peer& peer) const;
  [[nodiscard]] Reply pause(const DaemonRequest& request, const Peer& peer);
  [[nodiscard]] Reply told(const WatchedProgram& program) const;
  [[nodiscard]] Reply follow(WatchedProgram::Start start, bool announced);

  [[nodiscard]] bool may_see(uid_t user, const WatchedProgram& program) const;
  [[nodiscard]] DaemonResult<void> room_for(uid_t user) const;
  [[nodiscard]] WatchedProgram* program_of(pid_t process);
  [[nodiscard]] std::string places_nothing_as() const;
  [[nodiscard]] nlohmann::json program_json(const WatchedProgram& program, bool threads) const;

  Status read_machine();
  [[nodiscard]] std::string online_cpus() const;
  void find_lacks();
  void find_processes();
  [[nodiscard]] bool may_fit(pid_t process, const std::string& exe);
  [[nodiscard]] std::optional<bool> fits_asked(const StandingRule& standing, const std::string& exe);
  void take_in(pid_t process, const ProcessTraits& traits);
  void note_ended(const WatchedProgram& program);
  void look_at_programs(std::int64_t now_ns);
  void look_at_machine(std::int64_t now_ns);
  void join_anew();
  void place(std::int64_t now_ns);

  Options options_;
  uid_t own_user_;
  std::optional<machine::Topology> topology_;
  std::string online_;  // online CPUs, as the kernel listed them when the topology was read
  std::optional<UnitsBoard> board_;
  intensity::CodeReader code_;
  std::optional<intensity::IntensityWatch> watch_;
  std::vector<intensity::ThreadIntensity> intensities_;  // at the latest request
  std::map<int, Program> programs_;                      // by number
  std::map<std::pair<std::string, std::string>, Ended> ended_;
  std::vector<StandingRule> rules_;
  // A process that matched no client's rule and need not be tried again.
  struct Unfitting {
    uid_t user = 0;
    std::string exe;
    [[nodiscard]] friend bool operator==(const Unfitting&, const Unfitting&) = default;
  };
  std::map<pid_t, Unfitting> unfitting_;
  UserBudget matching_;                       // CPU time for matching clients' rules
  std::map<pid_t, std::uint64_t> unwatched_;  // start times of processes not to be watched again
  int next_number_ = 1;
  bool paused_ = false;
  std::vector<std::string> lacks_;
  std::string others_place_;  // another active tuner; "" if there is none
  RunTimes times_;
  double switches_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::int64_t next_place_ns_ = 0;
  std::int64_t next_find_ns_ = 0;
  std::int64_t next_machine_ns_ = 0;
  std::int64_t refused_ = 0;   // requests
  std::int64_t restored_ = 0;  // threads of an earlier daemon that was killed
};

}  // namespace millrace::placement
