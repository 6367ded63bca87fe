#include "millrace/tuning/trial/race.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

// Frames of the challenger's blocks after the warm-up frame. Few at first, because the challenger may be bad.
constexpr std::array<std::size_t, 7> block_lengths = {1, 2, 4, 6, 8, 8, 8};
// A tail shows only in longer blocks.
constexpr std::array<std::size_t, 7> tail_block_lengths = {1, 4, 8, 12, 16, 16, 16};
constexpr std::size_t min_incumbent_block = 3;

constexpr double first_drop_bound = 1.64;  // standard errors
constexpr double drop_bound = 2.0;
constexpr double promotion_bound = 2.6;
constexpr double last_promotion_bound = 1.5;  // when all frames are used up
constexpr std::size_t min_pairs_to_promote = 2;

constexpr double hopeless_warm_up = 1.386;        // log 4: more than cold caches explain
constexpr double median_inefficiency = 1.3;       // variance of robust block levels relative to means
constexpr double block_variance = 0.008 * 0.008;  // between blocks, regardless of their length
constexpr double outlier_bound = 3;

}  // namespace

Race::Race(const Objective& objective, double margin, double noise, std::span<const double> before)
    : objective_(objective), margin_(std::max(margin, least_margin)), noise_(noise) {
  if (before.size() < 2) {
    challengers_turn_ = false;
    warming_ = false;
    return;
  }
  in_block_ = std::min(before.size(), max_block);
  std::copy_n(before.begin(), in_block_, block_.begin());
  block_weight_ = static_cast<double>(in_block_);
  before_ = block_level();
  in_block_ = 0;
  block_weight_ = 0;
}

std::size_t Race::block_length() const {
  const std::size_t at = std::min(pairs_, max_pairs - 1);
  const std::size_t length = objective_.aim == Aim::throughput ? block_lengths[at] : tail_block_lengths[at];
  return challengers_turn_ ? length : std::max(length, min_incumbent_block);
}

Race::Next Race::next() const {
  return {challengers_turn_, static_cast<int>(block_length() - in_block_) + (warming_ ? 1 : 0)};
}

Race::Level Race::block_level() const {
  std::array<double, max_block> sorted = block_;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(in_block_));
  return {objective_.summary(std::span(sorted).first(in_block_)), block_weight_};
}

Race::Pair Race::pair_with(const Level& incumbent) const {
  return {challenger_.level - incumbent.level,
          median_inefficiency * noise_ * noise_ * (1 / challenger_.weight + 1 / incumbent.weight) +
              block_variance};
}

void Race::estimate(std::span<const Pair> pairs) {
  std::array<double, max_block> sorted{};
  std::ranges::transform(pairs, sorted.begin(), &Pair::log_ratio);
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(pairs.size());
  std::sort(sorted.begin(), end);
  const double median = (sorted[(pairs.size() - 1) / 2] + sorted[pairs.size() / 2]) / 2;
  const bool bounded = pairs.size() >= 3;
  double weights = 0;
  double sum = 0;
  for (const Pair& pair : pairs) {
    const double reach = outlier_bound * std::sqrt(pair.variance);
    const double ratio =
        bounded ? std::clamp(pair.log_ratio, median - reach, median + reach) : pair.log_ratio;
    weights += 1 / pair.variance;
    sum += ratio / pair.variance;
  }
  log_ratio_ = sum / weights;
  double scatter = 0;  // expectation: 1 for each pair beyond the first
  for (const Pair& pair : pairs) {
    const double off = (pair.log_ratio - log_ratio_) * (pair.log_ratio - log_ratio_) / pair.variance;
    scatter += std::min(off, outlier_bound * outlier_bound);
  }
  const double excess = pairs.size() > 1 ? scatter / static_cast<double>(pairs.size() - 1) : 1;
  error_ = std::sqrt(std::max(1.0, excess) / weights);
}

Verdict Race::tell(double log_cost, bool trusted) {
  if (warming_) {
    warming_ = false;
    if (!trusted) {
      const bool hopeless = challengers_turn_ && pairs_ == 0 && log_cost - before_.level > hopeless_warm_up;
      if (!hopeless) return Verdict::open;
      challenger_ = {log_cost, 1};
      log_ratio_ = log_cost - before_.level;
      error_ = log_ratio_ / 2;
      return Verdict::clearly_worse;
    }
  } else if (!trusted) {
    disturbed_ = true;
  }
  block_[in_block_++] = log_cost;
  block_weight_ += trusted ? 1 : 0.25;
  if (challengers_turn_) {
    challenger_ = block_level();
    const Verdict verdict = after_challenger_frame();
    if (verdict != Verdict::open) return verdict;
  }
  if (in_block_ < block_length()) return Verdict::open;

  const Level level = block_level();
  in_block_ = 0;
  block_weight_ = 0;
  warming_ = true;
  challengers_turn_ = !challengers_turn_;
  if (!challengers_turn_) return Verdict::open;
  const Level earlier = before_;
  before_ = level;
  if (challenger_.weight == 0) return Verdict::open;  // the initial incumbent block
  const double weight = level.weight + earlier.weight;
  pair_[pairs_++] = pair_with({(level.level + earlier.level) / 2, weight});
  return after_pair();
}

Verdict Race::after_challenger_frame() {
  pair_[pairs_] = pair_with(before_);
  estimate(std::span(pair_).first(pairs_ + 1));
  const double bound = pairs_ == 0 ? first_drop_bound : drop_bound;
  if (log_ratio_ - bound * error_ <= -margin_) return Verdict::open;
  return pairs_ == 0 ? Verdict::clearly_worse : Verdict::not_better;
}

Verdict Race::after_pair() {
  estimate(std::span(pair_).first(pairs_));
  if (log_ratio_ - drop_bound * error_ > -margin_) return Verdict::not_better;
  const bool enough = pairs_ >= min_pairs_to_promote;
  const bool last = pairs_ == max_pairs;
  const double bound = last ? last_promotion_bound : promotion_bound;
  if (enough && log_ratio_ < -least_margin && log_ratio_ + bound * error_ < 0) return Verdict::better;
  return last ? Verdict::undecided : Verdict::open;
}

}  // namespace millrace::tuning
