#include "millrace/placement/trials/plan_race.h"

#include <algorithm>

namespace millrace::placement {

PlanRace::PlanRace(const std::vector<Plan>& plans, const RaceOptions& options) : options_(options) {
  double share = 1;
  for (const Plan& plan : plans)
    candidates_.push_back({.plan = plan, .share = share /= 2, .evidence = {}, .log_ratios = {}});
}

std::optional<std::size_t> PlanRace::next() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!candidates_[i].left && (!best || candidates_[i].fortune() > candidates_[*best].fortune())) best = i;
  return best;
}

bool PlanRace::open(int pairs) const {
  return std::ranges::any_of(candidates_, [&](const Candidate& candidate) {
    return !candidate.left && candidate.share * candidate.evidence.best_after(pairs) >= goal();
  });
}

PlanRace::Outcome PlanRace::tell(std::size_t number, double log_ratio) {
  Candidate& candidate = candidates_[number];
  auto& ratios = candidate.log_ratios;
  ratios.push_back(log_ratio);
  candidate.evidence.add(log_ratio);
  const GainEstimate wide = estimate_gain(ratios, Confidence::p99);
  if (candidate.fortune() >= goal() && wide.mean >= options_.least_gain) {
    candidate.evidence = {};
    return {Verdict::won, wide, ""};
  }
  const GainEstimate narrow = estimate_gain(ratios, Confidence::p90);
  Outcome outcome{Verdict::left, wide, ""};
  if (ratios.size() >= 2 && std::ranges::max(ratios) < -options_.clear_loss) {
    outcome.reason = "clearly slower";
  } else if (wide.pairs >= 2 && narrow.high < options_.least_gain) {
    outcome.gain = narrow;
    outcome.reason = "no gain";
  } else if (wide.pairs >= options_.most_pairs) {
    outcome.reason = "no gain beyond the noise";
  } else {
    outcome.verdict = Verdict::undecided;
  }
  candidate.left = outcome.verdict == Verdict::left;
  return outcome;
}

void PlanRace::begin_round() {
  for (Candidate& candidate : candidates_) {
    candidate.left = false;
    candidate.log_ratios.clear();
  }
}

}  // namespace millrace::placement
