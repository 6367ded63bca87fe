// Learning: runs a short program several times to find the plan that it is fastest under.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/policy/plan.h"
#include "millrace/placement/run/run_program.h"
#include "millrace/placement/trials/coin.h"
#include "millrace/placement/trials/paired_gain.h"
#include "millrace/placement/trials/plan_race.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Which plan to run next and what came of it; runs nothing itself.
//
// Two runs, one of the untouched program and one of a candidate, in an order that a coin decides, are a pair;
// whose pair is next, and who has won, PlanRace says. It ends with the winner, when all candidates have left,
// or when the runs that are left cannot make a winner any more. Of programs to which no plan brings anything,
// one in twenty is given one, however many runs there are.
class PlanSearch {
 public:
  // The fewest runs in which anybody can win.
  [[nodiscard]] static int least_runs();

  // runs: how many there will be at most.
  PlanSearch(const std::vector<Plan>& candidates, int runs, std::uint64_t seed);

  // The next run's plan; nothing when nothing is left to be found out.
  [[nodiscard]] std::optional<Plan> next();
  // What it took; more than 0.
  void tell(double seconds);

  [[nodiscard]] const std::vector<PlanRace::Candidate>& candidates() const { return race_.candidates(); }
  // The plan to be used; the untouched one where none is shown to be better.
  [[nodiscard]] const Plan& best() const { return best_; }
  // Of the chosen plan; none for the untouched one.
  [[nodiscard]] const std::optional<GainEstimate>& gain() const { return gain_; }

 private:
  struct Pair {
    std::size_t candidate = 0;
    bool plan_first = false;
    std::optional<double> first_seconds;
  };

  PlanRace race_;
  int runs_left_;
  Coin coin_;
  std::optional<Pair> pair_;
  Plan best_;
  std::optional<GainEstimate> gain_;
};

// Whether more than a quarter of the runs were beside other programs: such a plan would be one for a busy
// machine, and is followed on an idle one only.
[[nodiscard]] bool disturbed(int runs, int beside_others);

struct LearnReport {
  Plan plan;
  std::optional<GainEstimate> gain;
  int runs = 0;
  std::vector<PlanRace::Candidate> candidates;
  int beside_others = 0;       // runs before which others took the CPUs
  std::vector<Plan> left_out;  // as the program's threads would notice nothing: see plans_that_differ()
};

// Runs `settings.command` up to `runs` times, without its standard streams (a program cannot be asked twice
// for what it reads there), and stores the plan for runs to come, unless they were disturbed. The first run
// shows which candidates its threads would notice. on_run: told of each run's plan and seconds, and whether
// others took the CPUs before it. Failure when a run fails: exit code other than 0; usage error for fewer
// than least_runs() and the first.
[[nodiscard]] Result<LearnReport> learn_program(const RunSettings& settings, int runs,
                                                const std::function<void(const Plan&, double, bool)>& on_run);

}  // namespace millrace::placement
