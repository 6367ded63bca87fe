#include "millrace/placement/learn.h"

#include "millrace/machine/thread_affinity.h"
#include "millrace/placement/launch.h"
#include "millrace/placement/overseer.h"
#include "millrace/placement/program_file.h"
#include "millrace/placement/program_key.h"
#include "millrace/placement/surroundings.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <unistd.h>

namespace millrace::placement {
namespace {

constexpr int untouched = -1;
constexpr int rounds_before_leaving = 3;

// xorshift64*, Vigna 2016: an order to run in needs no more.
std::uint64_t next_random(std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717U;
}

// Standard streams lead nowhere while it lives.
class NoStreams {
 public:
  NoStreams() {
    const OwnedDescriptor nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int stream = 0; stream < streams; ++stream) {
      kept_[stream] = fcntl(stream, F_DUPFD_CLOEXEC, streams);
      dup2(nowhere.number(), stream);
    }
  }
  ~NoStreams() {
    for (int stream = 0; stream < streams; ++stream) {
      dup2(kept_[stream], stream);
      close(kept_[stream]);
    }
  }
  NoStreams(const NoStreams&) = delete;
  NoStreams& operator=(const NoStreams&) = delete;

 private:
  static constexpr int streams = 3;
  int kept_[streams] = {};
};

}  // namespace

PlanSearch::PlanSearch(std::vector<Plan> candidates, int runs, std::uint64_t seed)
    : runs_left_(runs), random_(seed | 1) {
  for (Plan& plan : candidates)
    candidates_.push_back({std::move(plan), {}, false});
}

void PlanSearch::begin_round() {
  times_.clear();
  order_ = {untouched};
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!candidates_[i].left) order_.push_back(static_cast<int>(i));
  for (std::size_t i = order_.size() - 1; i > 0; --i)
    std::swap(order_[i], order_[next_random(random_) % (i + 1)]);
}

std::optional<Plan> PlanSearch::next() {
  if (times_.size() == order_.size()) begin_round();
  const bool nobody_left = order_.size() == 1;
  // A round is worth nothing unless it is completed.
  const bool too_few = times_.empty() && runs_left_ < static_cast<int>(order_.size());
  if (ended_ || nobody_left || too_few) {
    ended_ = true;
    return std::nullopt;
  }
  const int which = order_[times_.size()];
  return which == untouched ? Plan() : candidates_[static_cast<std::size_t>(which)].plan;
}

void PlanSearch::tell(double seconds) {
  --runs_left_;
  times_.push_back(seconds);
  if (times_.size() == order_.size()) end_round();
}

void PlanSearch::end_round() {
  const double reference =
      times_[static_cast<std::size_t>(std::ranges::find(order_, untouched) - order_.begin())];
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (order_[i] != untouched)
      candidates_[static_cast<std::size_t>(order_[i])].log_ratios.push_back(std::log(reference / times_[i]));
  double best_low = 0;
  for (const Candidate& candidate : candidates_)
    if (!candidate.left && candidate.log_ratios.size() >= rounds_before_leaving)
      best_low = std::max(best_low, estimate_gain(candidate.log_ratios, Confidence::p90).low);
  for (Candidate& candidate : candidates_)
    if (candidate.log_ratios.size() >= rounds_before_leaving &&
        estimate_gain(candidate.log_ratios, Confidence::p90).high < best_low)
      candidate.left = true;
}

const PlanSearch::Candidate* PlanSearch::chosen() const {
  const Candidate* best = nullptr;
  double best_mean = least_gain;
  for (const Candidate& candidate : candidates_) {
    if (candidate.left) continue;
    const GainEstimate gain = estimate_gain(candidate.log_ratios, Confidence::p99);
    if (gain.low <= 0 || gain.mean < best_mean) continue;
    best = &candidate;
    best_mean = gain.mean;
  }
  return best;
}

Plan PlanSearch::best() const { return chosen() == nullptr ? Plan() : chosen()->plan; }

std::optional<GainEstimate> PlanSearch::gain() const {
  if (chosen() == nullptr) return std::nullopt;
  return estimate_gain(chosen()->log_ratios, Confidence::p99);
}

Result<LearnReport> learn_program(const RunSettings& settings, int runs,
                                  const std::function<void(const Plan&, double)>& on_run) {
  const auto program = inspect_program(settings.command.front());
  if (!program) return std::unexpected(program.error());
  auto allowed = machine::current_thread_affinity();
  if (!allowed) return std::unexpected(allowed.error());
  std::optional<machine::Topology> topology;
  const auto surroundings = read_surroundings(*allowed, topology, false);
  if (!surroundings) return std::unexpected(surroundings.error());
  const tuning::ProfileKey key = program_key(*program, settings.command, *allowed, size_of_file);

  std::vector<Plan> candidates = candidate_plans(*topology, *allowed, machine::default_slice_ns() != 0);
  const int least = rounds_before_leaving * (static_cast<int>(candidates.size()) + 1);
  if (runs < least)
    return usage_error("{} runs are too few to compare {} candidates; here it takes {}, better twice as many",
                       runs, candidates.size(), least);
  PlanSearch search(std::move(candidates), runs, static_cast<std::uint64_t>(getpid()));
  LearnReport report;
  while (const auto plan = search.next()) {
    RunSettings one = settings;
    one.policy = policy_of(*plan);
    one.masks = plan->masks == MaskPolicy::none                ? MasksNeed::nothing
                : plan->masks == MaskPolicy::main_least_loaded ? MasksNeed::load
                                                               : MasksNeed::topology;
    one.progress = {};
    const auto ran = [&one] {
      const NoStreams quiet;
      return run_program(one);
    }();
    if (!ran) return std::unexpected(ran.error());
    if (ran->status != 0)
      return failure(
          "run {} of '{}' ended with exit code {}; without its standard streams it must run as with "
          "them",
          report.runs + 1, settings.command.front(), shell_code(ran->status));
    ++report.runs;
    search.tell(ran->seconds);
    if (on_run) on_run(*plan, ran->seconds);
  }
  report.plan = search.best();
  report.gain = search.gain();
  report.candidates = search.candidates();
  if (settings.profiles == nullptr) return report;
  tuning::Profile profile{.plan = to_string(report.plan)};
  for (const PlanSearch::Candidate& candidate : report.candidates)
    if (!candidate.log_ratios.empty())
      profile.costs.push_back(
          {to_string(candidate.plan), std::exp(-estimate_gain(candidate.log_ratios, Confidence::p95).mean)});
  if (const auto saved = settings.profiles->save(key, profile); !saved) return std::unexpected(saved.error());
  return report;
}

}  // namespace millrace::placement
