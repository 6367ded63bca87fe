// Learning: runs a short program several times to find its fastest plan.
#pragma once

#include "millrace/base/error/result.h"
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

// Decides which plan to run next and evaluates the result; it runs nothing itself.
//
// A pair is a run of the untouched program and a run of a candidate, in random order. PlanRace chooses the
// next candidate and decides who wins. The search ends with a winner, when all candidates have left, or when
// the remaining runs cannot produce a winner. At most one in twenty programs that no plan helps is given a
// plan, however many runs there are.
class PlanSearch {
 public:
  // The smallest number of runs in which a candidate can win.
  [[nodiscard]] static int least_runs();

  // runs: the maximum.
  PlanSearch(const std::vector<Plan>& candidates, int runs, std::uint64_t seed);

  // The next run's plan; nothing when there is nothing left to find out.
  [[nodiscard]] std::optional<Plan> next();
  // Reports the duration of that run; greater than 0.
  void tell(double seconds);

  [[nodiscard]] const std::vector<PlanRace::Candidate>& candidates() const { return race_.candidates(); }
  // The plan to use; the untouched one if no other was shown to be better.
  [[nodiscard]] const Plan& best() const { return best_; }
  // Gain of the chosen plan; empty for the untouched one.
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

// True if other programs were running before more than a quarter of the runs. A plan found then would fit a
// busy machine, but plans are followed only on an idle one.
[[nodiscard]] bool disturbed(int runs, int beside_others);

struct LearnReport {
  Plan plan;
  std::optional<GainEstimate> gain;
  int runs = 0;
  std::vector<PlanRace::Candidate> candidates;
  int beside_others = 0;       // runs that began while others used the CPUs
  std::vector<Plan> left_out;  // plans that would change nothing: see plans_that_differ()
};

// Runs `settings.command` up to `runs` times and stores the plan for later runs, unless the runs were
// disturbed. The standard streams are redirected to /dev/null, because input can be read only once. The first
// run shows which candidates matter to its threads. on_run: receives each run's plan and seconds, and whether
// others used the CPUs before it. Fails if a run exits with a code other than 0. Returns a usage error if
// `runs` is less than least_runs() plus the first run.
[[nodiscard]] Result<LearnReport> learn_program(const RunSettings& settings, int runs,
                                                const std::function<void(const Plan&, double, bool)>& on_run);

}  // namespace millrace::placement
