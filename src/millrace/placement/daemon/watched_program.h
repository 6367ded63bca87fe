// WatchedProgram: a program that the daemon follows: its threads, what they were given, and whether that
// gains.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/daemon/daemon_settings.h"
#include "millrace/placement/run/birth_poller.h"
#include "millrace/placement/run/overseer.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Used by one thread.
class WatchedProgram {
 public:
  struct Start {
    int number = 0;                   // by which the daemon knows it
    pid_t process = 0;                // with all that descend from it; 0: all of the control group
    std::string cgroup;               // path of its folder; "" with a process
    ProcessTraits traits;             // of the process; of a group its path and who asked
    bool any_user = false;            // of a group: also processes of other users than traits.user
    std::vector<DaemonRule> exclude;  // processes that are left alone, also those in the group or born below
    bool acts = false;                // threads are placed
    bool judge = true;                // ... where the program's progress shows a gain
    TrialOptions trials = {};
  };
  // Failure where it is gone or followed by another millrace. Where there is no `state`, or it cannot be
  // written in, nothing is ever changed, and trouble() says why. announced: by a millrace that follows it,
  // and leaves placing to this one.
  [[nodiscard]] static Result<std::unique_ptr<WatchedProgram>>
  begin(Start start, const Result<std::filesystem::path>& state, bool announced);
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;
  // Gives back what the threads had.
  ~WatchedProgram() { restore(); }

  // Looks for births and ends and how long threads ran; goes on with trials.
  void look(std::int64_t now_ns);
  // What is to keep its threads from others that want the same; by their numbers.
  void keep_apart(std::map<int, machine::CpuSet> masks);
  // Whether it is placed from now on; if not, its threads have what they had.
  void act(bool acts);
  Restored restore();

  // All that has ended. A control group may come back to life.
  [[nodiscard]] bool ended() const { return start_.process != 0 && threads_->alive() == 0; }
  // A control group that is no more.
  [[nodiscard]] bool gone() const;

  [[nodiscard]] const Start& start() const { return start_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // What its first process may use.
  [[nodiscard]] const machine::CpuSet& allowed() const { return allowed_; }
  [[nodiscard]] const ThreadRegister& threads() const { return *threads_; }
  [[nodiscard]] const RunTimes& times() const { return times_; }
  [[nodiscard]] bool acts() const { return acts_; }
  // Not placed for now, though it was to be.
  [[nodiscard]] bool paused() const { return start_.acts && !acts_; }
  // There is no journal, and never was: trouble() says why.
  [[nodiscard]] bool changes_nothing() const { return journal_.refuses(); }
  // Why nothing can be changed; "" where it can.
  [[nodiscard]] std::string trouble() const;
  // What became of it, as far as it is placed.
  struct Judgement {
    enum class State { observed, at_once, waiting, trying, kept, dropped, unjudged };
    State state = State::observed;
    std::vector<std::string> events;  // of trials, one line each
    std::optional<double> gain;       // that they have measured: 0.1 is 10 % faster
  };
  [[nodiscard]] Judgement judgement() const;
  // Whether it is to be joined anew, where it is_still_there(): it is in another control group than when it
  // was joined, or other CPUs are open to that one; it executes another program, or is another user's; its
  // journal was removed.
  [[nodiscard]] bool to_join_anew() const;
  // Its first process, which has not become another user's, nor its number another process's; or its group.
  [[nodiscard]] bool is_still_there() const;

 private:
  WatchedProgram(Start start, Journal journal);
  void find_births();
  [[nodiscard]] bool is_own(pid_t process) const;
  void begin_judging();

  Start start_;
  std::string name_;
  std::string confinement_;  // its control groups and the CPUs that were open to them
  std::string executes_;     // what its first process executed then
  std::uint64_t began_ = 0;  // when that was born, see TaskStat
  Journal journal_;
  std::string trouble_;
  machine::CpuSet allowed_;
  std::optional<ThreadRegister> threads_;
  std::optional<BirthPoller> births_;
  std::optional<Overseer> overseer_;
  RunTimes times_;
  bool acts_ = false;
  bool unjudged_ = false;  // nothing tells of its progress
  bool restored_ = false;
};
// "observed", "placed at once", "not in conflict", "being tried", "placed", "no gain", "not judged".
[[nodiscard]] std::string_view name_of(WatchedProgram::Judgement::State state);

}  // namespace millrace::placement
