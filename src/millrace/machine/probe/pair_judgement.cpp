#include "millrace/machine/probe/pair_judgement.h"

#include "millrace/machine/probe/probe_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

constexpr double another_cache_ns = 130;

// The minimum slowdown of a kind of computation next to the same kind on siblings. Measured on siblings: 1.33
// to 1.45, 1.78 to 1.93 and 1.33 to 1.36. Measured elsewhere: 0.99 to 1.01.
struct Sign {
  SharedUnit unit;
  double least;
};
constexpr std::array signs{Sign{SharedUnit::integer, 1.2}, Sign{SharedUnit::fp, 1.4},
                           Sign{SharedUnit::simd, 1.18}};
constexpr int signs_needed = 2;
// Limit for the interference of different kinds, relative to that of the same kind. Above it, the threads do
// not wait for an execution unit. Siblings measured 0 to 0.3. On a Zen 5, for example, a thread gets more of
// the front end while the sibling idles, so int slows down 1.4 times next to anything and 1.8 times next to
// int. PUs that take turns measured 1.
constexpr double most_unlike = 0.6;
constexpr std::size_t windows_needed = 2;

std::vector<ProbeStep> deciding_steps() {
  using enum SharedUnit;
  std::vector<ProbeStep> steps;
  for (const Sign& sign : signs)
    steps.push_back({sign.unit, sign.unit});
  steps.insert(steps.end(), {{integer, fp}, {fp, integer}});
  for (const Sign& sign : signs) {
    steps.push_back({sign.unit, std::nullopt});
    steps.push_back({std::nullopt, sign.unit});
  }
  return steps;
}

std::vector<ProbeStep> make_steps() {
  const std::vector<ProbeStep> deciding = deciding_steps();
  std::vector<ProbeStep> rest;
  const auto add = [&](const ProbeStep& step) {
    if (std::ranges::find(deciding, step) == deciding.end()) rest.push_back(step);
  };
  for (const SharedUnit unit : all_shared_units) {
    add({unit, std::nullopt});
    add({std::nullopt, unit});
    for (const SharedUnit beside : all_shared_units)
      add({unit, beside});
  }
  std::vector<ProbeStep> steps = deciding;
  const auto half = rest.begin() + std::ssize(rest) / 2;
  steps.insert(steps.end(), rest.begin(), half);
  steps.insert(steps.end(), deciding.begin(), deciding.end());
  steps.insert(steps.end(), half, rest.end());
  steps.insert(steps.end(), deciding.begin(), deciding.end());
  return steps;
}

// The best speeds on one PU.
struct BestSpeeds {
  PerUnit<PerUnit<double>> beside;
  PerUnit<double> alone;
  PerUnit<PerUnit<std::size_t>> windows;

  void add(std::optional<SharedUnit> unit, std::optional<SharedUnit> other, double speed) {
    if (!unit || !(speed > 0)) return;
    double& best = other ? beside[*unit][*other] : alone[*unit];
    best = std::max(best, speed);
    if (other) ++windows[*unit][*other];
  }

  [[nodiscard]] double most(SharedUnit unit) const {
    double best = alone[unit];
    for (const SharedUnit other : all_shared_units)
      best = std::max(best, beside[unit][other]);
    return best;
  }

  // Relative to the best speed alone or next to another kind of computation. 1 if either value is missing.
  [[nodiscard]] double slowdown(SharedUnit unit, SharedUnit other) const {
    double reference = alone[unit];
    for (const Sign& sign : signs)
      if (sign.unit != unit) reference = std::max(reference, beside[unit][sign.unit]);
    const double speed = beside[unit][other];
    return speed > 0 && reference > 0 ? reference / speed : 1;
  }

  // The combined slowdown of two kinds, relative to running alone: 2 if each takes twice as long.
  [[nodiscard]] double loss(SharedUnit unit, SharedUnit other) const {
    return against_alone(unit, other) + against_alone(other, unit) - 2;
  }

 private:
  [[nodiscard]] double against_alone(SharedUnit unit, SharedUnit other) const {
    const double speed = beside[unit][other];
    return speed > 0 && alone[unit] > 0 ? alone[unit] / speed : 1;
  }
};

}  // namespace

const std::vector<ProbeStep>& probe_steps() {
  static const std::vector<ProbeStep> steps = make_steps();
  return steps;
}

std::string_view name_of(PairState state) {
  switch (state) {
  case PairState::unclear:
    break;
  case PairState::apart:
    return "apart";
  case PairState::same_llc:
    return "same LLC";
  case PairState::siblings:
    return "siblings";
  }
  return "unclear";
}

PairJudgement judge(const PairMeasurement& measurement) {
  using enum SharedUnit;
  PairJudgement judgement{.reason = {},
                          .slowdown = {},
                          .handover_ns = measurement.handover_ns,
                          .windows = static_cast<int>(measurement.windows.size())};
  std::array<BestSpeeds, 2> pus;
  for (const ProbeWindow& window : measurement.windows) {
    if (window.disturbed) {
      ++judgement.disturbed;
      continue;
    }
    pus[0].add(window.step.first, window.step.second, window.first_speed);
    pus[1].add(window.step.second, window.step.first, window.second_speed);
  }
  for (const SharedUnit unit : all_shared_units)
    for (const SharedUnit beside : all_shared_units) {
      double sum = 0;
      int known = 0;
      for (const BestSpeeds& pu : pus)
        if (pu.beside[unit][beside] > 0) {
          sum += pu.most(unit) / pu.beside[unit][beside];
          ++known;
        }
      judgement.slowdown[unit][beside] = known > 0 ? sum / known : 0;
    }

  const auto unclear = [&](std::string reason) {
    judgement.state = PairState::unclear;
    judgement.reason = std::move(reason);
    return judgement;
  };
  if (!(measurement.handover_ns > 0)) return unclear("The hand-over of a cache line could not be measured.");
  for (const Sign& sign : signs)
    for (const BestSpeeds& pu : pus)
      if (pu.windows[sign.unit][sign.unit] < windows_needed || pu.most(sign.unit) <= 0)
        return unclear(
            fmt::format("{} of {} measurements were disturbed.", judgement.disturbed, judgement.windows));

  const bool near = measurement.handover_ns < another_cache_ns;
  int seen = 0;
  std::string which;
  for (const Sign& sign : signs)
    if (std::ranges::all_of(
            pus, [&](const auto& pu) { return pu.slowdown(sign.unit, sign.unit) >= sign.least; })) {
      ++seen;
      which += fmt::format("{}{} {:.2f}x", which.empty() ? "" : ", ", kernel_name(sign.unit),
                           judgement.slowdown[sign.unit][sign.unit]);
    }
  const bool all_alike = std::ranges::all_of(pus, [](const BestSpeeds& pu) {
    const double like = (pu.loss(integer, integer) + pu.loss(fp, fp)) / 2;
    return pu.loss(integer, fp) >= most_unlike * like;
  });
  if (seen >= signs_needed) {
    if (all_alike) return unclear("Unlike kinds of work disturb each other as like ones do.");
    if (!near)
      return unclear(fmt::format("Like kinds of work disturb each other, but a cache line takes {:.0f} ns.",
                                 measurement.handover_ns));
    judgement.state = PairState::siblings;
    judgement.reason = fmt::format("Beside their like take longer: {}.", which);
    return judgement;
  }
  judgement.state = near ? PairState::same_llc : PairState::apart;
  judgement.reason = fmt::format("Computing is as fast beside its like; a cache line takes {:.0f} ns.",
                                 measurement.handover_ns);
  return judgement;
}

void PairHistory::add(PairState state) {
  constexpr int too_many = 3;
  if (state == PairState::unclear) {
    if (++unclear_ < too_many) return;
    state_ = PairState::unclear;
    held_ = 0;
    return;
  }
  unclear_ = 0;
  held_ = state == state_ ? held_ + 1 : 1;
  state_ = state;
}

std::vector<CpuSet> measured_groups(const CpuSet& cpus, std::span<const ProbedPair> pairs) {
  std::vector<CpuSet> groups;
  for (const int cpu : cpus)
    groups.push_back({cpu});
  for (const ProbedPair& pair : pairs) {
    if (pair.history.state() != PairState::siblings) continue;
    const auto first =
        std::ranges::find_if(groups, [&](const CpuSet& set) { return set.contains(pair.first); });
    const auto second =
        std::ranges::find_if(groups, [&](const CpuSet& set) { return set.contains(pair.second); });
    if (first == groups.end() || second == groups.end() || first == second) continue;
    *first |= *second;
    groups.erase(second);
  }
  std::ranges::sort(groups, {}, &CpuSet::lowest);
  return groups;
}

}  // namespace millrace::machine
