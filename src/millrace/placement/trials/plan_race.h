// PlanRace: which candidate is compared with the untouched program next, and when one has won.
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
  // Of programs to which no plan brings anything, the share that is given one ever.
  double false_gains = 0.01;
  double least_gain = 0.01;  // log ratio of rates below which nothing is worth a change
  double clear_loss = 0.15;  // whose first two pairs are this much worse, leaves
  int most_pairs = 64;       // after which a candidate leaves undecided
};

// Each pair compares one candidate with the untouched program; which of the two went first was a coin's
// choice, so that where a plan brings nothing, a gain is as likely as a loss of the same size, however the
// program's rate drifts. One fortune is bet against "no plan brings anything" (GainEvidence), half of it on
// the first candidate, a quarter on the second, and so on; once one candidate's part has grown to
// 1 / false_gains, it has won. The next pair is always for the candidate whose part is largest: who loses a
// pair stands back, who wins goes on. Who is shown to bring nothing leaves.
//
// Used by one thread at a time.
class PlanRace {
 public:
  // plans: the most promising in front.
  PlanRace(const std::vector<Plan>& plans, const RaceOptions& options);

  struct Candidate {
    Plan plan;
    double share = 0;  // of the fortune
    GainEvidence evidence;
    std::vector<double> log_ratios;  // of this round: of the plan's rate to the untouched program's
    bool left = false;
    [[nodiscard]] double fortune() const { return share * evidence.value(); }
  };
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

  // Whose pair is next; nothing when all have left.
  [[nodiscard]] std::optional<std::size_t> next() const;
  // Whether one may still win by so many more pairs.
  [[nodiscard]] bool open(int pairs) const;

  enum class Verdict { undecided, won, left };
  struct Outcome {
    Verdict verdict = Verdict::undecided;
    GainEstimate gain;
    std::string reason;  // of leaving
  };
  // A pair is done. Who has won begins anew, so that after a gain that is gone it has to be shown again.
  Outcome tell(std::size_t candidate, double log_ratio);
  void leave(std::size_t candidate) { candidates_[candidate].left = true; }
  // All are back; what was won and lost so far stays.
  void begin_round();

 private:
  [[nodiscard]] double goal() const { return 1 / options_.false_gains; }

  std::vector<Candidate> candidates_;
  RaceOptions options_;
};

}  // namespace millrace::placement
