// WatchedProgram: a program that the daemon follows: its threads, their masks, and whether those gain.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
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

// Not thread-safe.
class WatchedProgram {
 public:
  struct Start {
    int number = 0;         // the daemon's number for it
    pid_t process = 0;      // watched with all its descendants; 0: the whole control group is watched
    std::string cgroup;     // path of the group's folder; "" with a process
    ProcessTraits traits;   // of the process; for a group, its path and the requesting user
    bool any_user = false;  // for a group: include processes of users other than traits.user
    std::vector<DaemonRule> exclude;  // processes to leave alone, also in the group or among descendants
    bool acts = false;                // threads are placed
    bool judge = true;                // ... only if the program's progress shows a gain
    TrialOptions trials = {};
  };
  // Fails if the program is gone or another millrace follows it. Without a writable `state`, nothing is ever
  // changed, and trouble() says why. announced: by a millrace that follows the program and leaves placing to
  // this one.
  [[nodiscard]] static Result<std::unique_ptr<WatchedProgram>>
  begin(Start start, const Result<std::filesystem::path>& state, bool announced);
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;
  // Restores the threads.
  ~WatchedProgram() { restore(); }

  // Looks for births and ends, reads run times, and goes on with trials.
  void look(std::int64_t now_ns);
  // Sets the masks that keep its threads apart from competing ones, by thread number.
  void keep_apart(std::map<int, machine::CpuSet> masks);
  // Sets whether the program is placed from now on; if not, its threads are restored.
  void act(bool acts);
  Restored restore();

  // True if all its processes have ended. A control group never ends: it may get new processes.
  [[nodiscard]] bool ended() const { return start_.process != 0 && threads_->alive() == 0; }
  // True if the control group was removed.
  [[nodiscard]] bool gone() const;

  [[nodiscard]] const Start& start() const { return start_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // What its first process may use.
  [[nodiscard]] const machine::CpuSet& allowed() const { return allowed_; }
  [[nodiscard]] const ThreadRegister& threads() const { return *threads_; }
  [[nodiscard]] const RunTimes& times() const { return times_; }
  [[nodiscard]] bool acts() const { return acts_; }
  // True if placing is suspended.
  [[nodiscard]] bool paused() const { return start_.acts && !acts_; }
  // True if there never was a journal: trouble() says why.
  [[nodiscard]] bool changes_nothing() const { return journal_.refuses(); }
  // Why nothing can be changed; "" if it can.
  [[nodiscard]] std::string trouble() const;
  // The result of placing it.
  struct Judgement {
    enum class State { observed, at_once, waiting, trying, kept, dropped, unjudged };
    State state = State::observed;
    std::vector<std::string> events;  // of the trials, one line each
    std::optional<double> gain;       // measured by the trials: 0.1 is 10 % faster
  };
  [[nodiscard]] Judgement judgement() const;
  // True if the program must be joined anew, provided is_still_there(). Reasons: its control group or the
  // group's open CPUs changed, and have not changed again since the call before; it executes another program
  // or changed its user; its journal was removed. Call it once a second.
  [[nodiscard]] bool to_join_anew();
  // True if its first process is the same and still belongs to the same user, or if its group exists.
  [[nodiscard]] bool is_still_there() const;

 private:
  WatchedProgram(Start start, Journal journal);
  void find_births();
  [[nodiscard]] bool is_own(pid_t process) const;
  void begin_judging();

  Start start_;
  std::string name_;
  std::string confinement_;       // its control groups and their open CPUs when it was joined, ...
  std::string confinement_seen_;  // ... and when they were last looked at
  std::string executes_;          // the executable of its first process then
  std::uint64_t began_ = 0;       // start time of that process, see TaskStat
  Journal journal_;
  std::string trouble_;
  machine::CpuSet allowed_;
  std::optional<ThreadRegister> threads_;
  std::optional<BirthPoller> births_;
  std::optional<Overseer> overseer_;
  RunTimes times_;
  bool acts_ = false;
  bool unjudged_ = false;  // nothing measures its progress
  bool restored_ = false;
};
// "observed", "placed at once", "not in conflict", "being tried", "placed", "no gain", "not judged".
[[nodiscard]] std::string_view name_of(WatchedProgram::Judgement::State state);

}  // namespace millrace::placement
