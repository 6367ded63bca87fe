// Learning: runs a short program several times to find the plan that it is fastest under.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/paired_gain.h"
#include "millrace/placement/plan.h"
#include "millrace/placement/run_program.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Which plan to run next and what came of it; runs nothing itself.
//
// Rounds: the untouched program and every candidate that is left once, in an order that differs from round to
// round, so that a drift of the machine hits all alike. The log ratio of the untouched run's time to a
// candidate's within a round is one pair. After three rounds a candidate leaves whose 90 % interval lies
// below nothing, or below the lower end of the best one's. At the end the one of the greatest mean gain is
// chosen, where its 99 % interval lies above nothing (there are several candidates) and its mean above
// least_gain; else the program stays untouched.
class PlanSearch {
 public:
  static constexpr double least_gain = 0.01;  // log ratio

  // runs: how many there will be in all; at least twice as many as plans make sense.
  PlanSearch(std::vector<Plan> candidates, int runs, std::uint64_t seed);

  // The next run's plan; nothing when all runs are done, or nothing is left to be found out.
  [[nodiscard]] std::optional<Plan> next();
  // What it took; more than 0.
  void tell(double seconds);

  struct Candidate {
    Plan plan;
    std::vector<double> log_ratios;
    bool left = false;  // has left the search
  };
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  // The plan to be used; the untouched one where none is better.
  [[nodiscard]] Plan best() const;
  // Of the chosen plan; none for the untouched one.
  [[nodiscard]] std::optional<GainEstimate> gain() const;

 private:
  void begin_round();
  void end_round();
  [[nodiscard]] const Candidate* chosen() const;

  std::vector<Candidate> candidates_;
  int runs_left_;
  std::uint64_t random_;
  std::vector<int> order_;     // of this round: index of a candidate, -1 the untouched program
  std::vector<double> times_;  // of this round, in that order
  bool ended_ = false;
};

struct LearnReport {
  Plan plan;
  std::optional<GainEstimate> gain;
  int runs = 0;
  std::vector<PlanSearch::Candidate> candidates;
};

// Runs `settings.command` up to `runs` times, without its standard streams (a program cannot be asked twice
// for what it reads there), and stores the plan for runs to come. on_run: told of each run's plan and
// seconds. Failure when a run fails: exit code other than 0; usage error for fewer than three rounds' runs.
[[nodiscard]] Result<LearnReport> learn_program(const RunSettings& settings, int runs,
                                                const std::function<void(const Plan&, double)>& on_run);

}  // namespace millrace::placement
