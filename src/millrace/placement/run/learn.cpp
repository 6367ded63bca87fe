#include "millrace/placement/run/learn.h"

#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/surroundings.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/program/program_key.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

namespace millrace::placement {
namespace {

constexpr int untouched = -1;
constexpr int pairs_before_giving_up = 4;

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
    const auto nowhere = Descriptor::owned(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int stream = 0; stream < streams; ++stream) {
      kept_[stream] = fcntl(stream, F_DUPFD_CLOEXEC, streams);
      dup2(nowhere.get(), stream);
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

Result<Summary> run_quietly(RunSettings settings, const Plan& plan) {
  settings.policy = policy_of(plan);
  settings.masks = need_of(plan.masks);
  settings.progress = {};
  settings.become_program = false;
  const NoStreams quiet;
  return run_program(settings);
}

}  // namespace

int PlanSearch::least_runs(std::size_t candidates) {
  constexpr int runs_for_each = 4;
  return runs_for_each * (static_cast<int>(candidates) + 1);
}

PlanSearch::PlanSearch(std::vector<Plan> candidates, int runs, std::uint64_t seed)
    : runs_left_(runs), search_runs_left_(runs / 2), random_(seed | 1) {
  for (const Plan& plan : candidates)
    candidates_.push_back({plan, {}, {}, false});
  begin_stage();
}

std::vector<std::size_t> PlanSearch::remaining() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!candidates_[i].left) indices.push_back(i);
  return indices;
}

// As many rounds as spread the runs of the first half evenly over the stages to come.
void PlanSearch::begin_stage() {
  const auto count = static_cast<int>(remaining().size());
  ended_ = ended_ || count == 0;
  confirming_ = count == 1;
  int stages = 0;
  for (int left = count; left > 1; left /= 2)
    ++stages;
  if (stages > 0)
    rounds_left_ = std::max(
        1, static_cast<int>(std::lround(static_cast<double>(search_runs_left_) / (stages * (count + 1)))));
}

void PlanSearch::begin_round() {
  times_.clear();
  const bool untouched_was_first = !order_.empty() && order_.front() == untouched;
  order_ = {untouched};
  for (const std::size_t index : remaining())
    order_.push_back(static_cast<int>(index));
  if (confirming_) {
    if (untouched_was_first) std::ranges::reverse(order_);
    return;
  }
  for (std::size_t i = order_.size() - 1; i > 0; --i)
    std::swap(order_[i], order_[next_random(random_) % (i + 1)]);
}

std::optional<Plan> PlanSearch::next() {
  if (!ended_ && times_.size() == order_.size()) begin_round();
  // A round is worth nothing unless it is completed.
  if (times_.empty() && runs_left_ < static_cast<int>(order_.size())) ended_ = true;
  if (ended_) return std::nullopt;
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
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (order_[i] == untouched) continue;
    Candidate& candidate = candidates_[static_cast<std::size_t>(order_[i])];
    (confirming_ ? candidate.confirmation : candidate.log_ratios).push_back(std::log(reference / times_[i]));
  }
  if (confirming_) {
    const GainEstimate gain = estimate_gain(candidates_[remaining().front()].confirmation, Confidence::p90);
    ended_ = gain.pairs >= pairs_before_giving_up && gain.high < least_gain;
    return;
  }
  search_runs_left_ -= static_cast<int>(order_.size());
  if (--rounds_left_ == 0) end_stage();
}

// The worse half leaves; all do where even the best is no faster than untouched.
void PlanSearch::end_stage() {
  std::vector<std::size_t> ranked = remaining();
  const auto mean = [this](std::size_t index) {
    return estimate_gain(candidates_[index].log_ratios, Confidence::p90).mean;
  };
  std::ranges::sort(ranked, std::ranges::greater(), mean);
  const std::size_t keep = mean(ranked.front()) > 0 ? ranked.size() / 2 : 0;
  for (std::size_t i = keep; i < ranked.size(); ++i)
    candidates_[ranked[i]].left = true;
  begin_stage();
}

const PlanSearch::Candidate* PlanSearch::chosen() const {
  for (const Candidate& candidate : candidates_) {
    const GainEstimate gain = estimate_gain(candidate.confirmation, Confidence::p95);
    if (gain.low > 0 && gain.mean >= least_gain) return &candidate;
  }
  return nullptr;
}

Plan PlanSearch::best() const { return chosen() == nullptr ? Plan() : chosen()->plan; }

std::optional<GainEstimate> PlanSearch::gain() const {
  if (chosen() == nullptr) return std::nullopt;
  return estimate_gain(chosen()->confirmation, Confidence::p95);
}

bool disturbed(int runs, int beside_others) {
  constexpr int runs_for_each = 4;
  return beside_others * runs_for_each > runs;
}

Result<LearnReport> learn_program(const RunSettings& settings, int runs,
                                  const std::function<void(const Plan&, double, bool)>& on_run) {
  const auto program = inspect_program(settings.command.front());
  if (!program) return std::unexpected(program.error());
  auto allowed = machine::current_thread_affinity();
  if (!allowed) return std::unexpected(allowed.error());
  std::optional<machine::Topology> topology;
  const auto surroundings = read_surroundings(*allowed, topology, false);
  if (!surroundings) return std::unexpected(surroundings.error());
  const tuning::ProfileKey key = program_key(*program, settings.command, *allowed, size_of_file);

  const std::vector<Plan> candidates = candidate_plans(*topology, *allowed, machine::default_slice_ns() != 0);
  const int least = PlanSearch::least_runs(candidates.size()) + 1;
  if (runs < least)
    return usage_error("{} runs are too few to compare {} candidates; here it takes {}, better twice as many",
                       runs, candidates.size(), least);
  LearnReport report;
  const auto run_under = [&](const Plan& plan) -> Result<Summary> {
    const bool beside_others = others_are_running(*allowed);
    if (beside_others) ++report.beside_others;
    auto ran = run_quietly(settings, plan);
    if (!ran) return ran;
    if (ran->status != 0)
      return failure(
          "run {} of '{}' ended with exit code {}; without its standard streams it must run as with "
          "them",
          report.runs + 1, settings.command.front(), shell_code(ran->status));
    ++report.runs;
    if (on_run) on_run(plan, ran->seconds, beside_others);
    return ran;
  };
  // It also reads the files that the others find in memory; so its time is compared with none.
  const auto first = run_under(Plan());
  if (!first) return std::unexpected(first.error());
  const auto own = machine::scheduling_attributes(0);
  if (!own) return std::unexpected(own.error());
  std::vector<Plan> differing = plans_that_differ(candidates, *surroundings, *own, first->threads.crowds);
  std::ranges::copy_if(candidates, std::back_inserter(report.left_out), [&](const Plan& plan) {
    return std::ranges::find(differing, plan) == differing.end();
  });
  PlanSearch search(std::move(differing), runs - 1, static_cast<std::uint64_t>(getpid()));
  while (const auto plan = search.next()) {
    const auto ran = run_under(*plan);
    if (!ran) return std::unexpected(ran.error());
    search.tell(ran->seconds);
  }
  report.candidates = search.candidates();
  if (disturbed(report.runs, report.beside_others)) return report;
  report.plan = search.best();
  report.gain = search.gain();
  if (settings.profiles == nullptr) return report;
  tuning::Profile profile{.plan = to_string(report.plan)};
  for (const PlanSearch::Candidate& candidate : report.candidates) {
    const auto& ratios = candidate.confirmation.empty() ? candidate.log_ratios : candidate.confirmation;
    if (!ratios.empty())
      profile.costs.push_back(
          {to_string(candidate.plan), std::exp(-estimate_gain(ratios, Confidence::p95).mean)});
  }
  if (const auto saved = settings.profiles->save(key, profile); !saved) return std::unexpected(saved.error());
  return report;
}

}  // namespace millrace::placement
