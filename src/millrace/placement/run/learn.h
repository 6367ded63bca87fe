// Learning: runs a short program several times to find the plan that it is fastest under.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/policy/plan.h"
#include "millrace/placement/run/run_program.h"
#include "millrace/placement/trials/paired_gain.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Which plan to run next and what came of it; runs nothing itself.
//
// Half of the runs find the most promising candidate, the other half ask whether it is worth it. The first
// half goes in rounds: the untouched program and every candidate that is left once, in an order that differs
// from round to round, so that a drift of the machine hits all alike; the log ratio of the untouched run's
// time to a candidate's within a round is one pair. After some rounds the worse half leaves (sequential
// halving, Karnin, Koren and Somekh 2013), until one is left. The second half is that one and the untouched
// program in turns, and only these pairs decide: a candidate that leads by luck among several looks better
// than it is in the pairs that made it lead. It is chosen where the 95 % interval of their mean gain lies
// above nothing and the mean is at least least_gain.
class PlanSearch {
 public:
  static constexpr double least_gain = 0.01;  // log ratio

  // Below so many runs it is not worth beginning.
  [[nodiscard]] static int least_runs(std::size_t candidates);

  // runs: how many there will be in all.
  PlanSearch(std::vector<Plan> candidates, int runs, std::uint64_t seed);

  // The next run's plan; nothing when all runs are done, or nothing is left to be found out.
  [[nodiscard]] std::optional<Plan> next();
  // What it took; more than 0.
  void tell(double seconds);

  struct Candidate {
    Plan plan;
    std::vector<double> log_ratios;    // of the rounds it was in
    std::vector<double> confirmation;  // of the turns with the untouched program; empty for all but one
    bool left = false;                 // has left the search
  };
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  // The plan to be used; the untouched one where none is better.
  [[nodiscard]] Plan best() const;
  // Of the chosen plan; none for the untouched one.
  [[nodiscard]] std::optional<GainEstimate> gain() const;

 private:
  void begin_stage();
  void begin_round();
  void end_round();
  void end_stage();
  [[nodiscard]] std::vector<std::size_t> remaining() const;
  [[nodiscard]] const Candidate* chosen() const;

  std::vector<Candidate> candidates_;
  int runs_left_;
  int search_runs_left_;  // of the first half
  std::uint64_t random_;
  int rounds_left_ = 0;  // of this stage
  bool confirming_ = false;
  std::vector<int> order_;     // of this round: index of a candidate, -1 the untouched program
  std::vector<double> times_;  // of this round, in that order
  bool ended_ = false;
};

// Whether more than a quarter of the runs were beside other programs: such a plan would be one for a busy
// machine, and is followed on an idle one only.
[[nodiscard]] bool disturbed(int runs, int beside_others);

struct LearnReport {
  Plan plan;
  std::optional<GainEstimate> gain;
  int runs = 0;
  std::vector<PlanSearch::Candidate> candidates;
  int beside_others = 0;       // runs before which others took the CPUs
  std::vector<Plan> left_out;  // as the program's threads would notice nothing: see plans_that_differ()
};

// Runs `settings.command` up to `runs` times, without its standard streams (a program cannot be asked twice
// for what it reads there), and stores the plan for runs to come, unless they were disturbed. The first run
// shows which candidates its threads would notice. on_run: told of each run's plan and seconds, and whether
// others took the CPUs before it. Failure when a run fails: exit code other than 0; usage error for fewer
// than least_runs() of all candidates of this machine and the first.
[[nodiscard]] Result<LearnReport> learn_program(const RunSettings& settings, int runs,
                                                const std::function<void(const Plan&, double, bool)>& on_run);

}  // namespace millrace::placement
