// PlanRace: chooses which candidate is compared with the untouched program next, and decides when one has
// won.
#pragma once

#include "millrace/placement/policy/plan.h"
#include "millrace/placement/trials/gain_evidence.h"
#include "millrace/placement/trials/paired_gain.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

struct RaceOptions {
  // Upper limit for the share of programs that are ever given a plan although no plan helps them.
  double false_gains = 0.01;
  double least_gain = 0.01;  // log ratio of rates; smaller gains are not worth a change
  double clear_loss = 0.15;  // a candidate leaves if all its pairs, at least two, are this much worse
  int most_pairs = 64;       // a candidate leaves undecided after this many pairs
};

// Each pair compares one candidate with the untouched program, in random order. So if a plan brings nothing,
// a gain is as likely as a loss of the same size, however the program's rate drifts. One fortune is bet
// against "no plan brings anything" (GainEvidence): half of it on the first candidate, a quarter on the
// second, and so on. A candidate wins once its part has grown to 1 / false_gains. The next pair goes to the
// candidate with the largest part: a candidate that loses a pair is tried later; a winner is tried again at
// once. A candidate that is shown to bring nothing leaves.
//
// Not thread-safe.
class PlanRace {
 public:
  // plans: most promising first.
  PlanRace(const std::vector<Plan>& plans, const RaceOptions& options);

  struct Candidate {
    Plan plan;
    double share = 0;  // of the fortune
    GainEvidence evidence;
    std::vector<double> log_ratios;  // of this round: the plan's rate to the untouched program's
    bool left = false;
    [[nodiscard]] double fortune() const { return share * evidence.value(); }
  };
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

  // The candidate of the next pair; nothing if all have left.
  [[nodiscard]] std::optional<std::size_t> next() const;
  // True if a candidate may still win within this many more pairs.
  [[nodiscard]] bool open(int pairs) const;

  enum class Verdict { undecided, won, left };
  struct Outcome {
    Verdict verdict = Verdict::undecided;
    GainEstimate gain;
    std::string reason;  // for leaving
  };
  // Reports the result of a pair. A winner's evidence starts anew, so that a gain that vanished must be shown
  // again.
  Outcome tell(std::size_t candidate, double log_ratio);
  void leave(std::size_t candidate) { candidates_[candidate].left = true; }
  // Brings back all candidates and keeps their fortunes.
  void begin_round();

 private:
  [[nodiscard]] double goal() const { return 1 / options_.false_gains; }

  std::vector<Candidate> candidates_;
  RaceOptions options_;
};

}  // namespace millrace::placement
