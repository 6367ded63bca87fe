#include "millrace/placement/run/learn.h"

#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/machine_state.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/program/program_key.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

// Runs cost more than windows and the user watches: one in twenty may be given a plan by chance.
constexpr RaceOptions race_of_runs{.false_gains = 0.05};

// Redirects the standard streams to /dev/null during its lifetime.
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

int PlanSearch::least_runs() {
  const PlanRace race({Plan()}, race_of_runs);
  int pairs = 1;
  while (!race.open(pairs))
    ++pairs;
  return 2 * pairs;
}

PlanSearch::PlanSearch(const std::vector<Plan>& candidates, int runs, std::uint64_t seed)
    : race_(candidates, race_of_runs), runs_left_(runs), coin_(seed) {}

std::optional<Plan> PlanSearch::next() {
  if (!pair_) {
    const auto candidate = race_.next();
    if (!best_.untouched() || !candidate || !race_.open(runs_left_ / 2)) return std::nullopt;
    pair_ = Pair{.candidate = *candidate, .plan_first = coin_.toss()};
  }
  const bool first = !pair_->first_seconds;
  return first == pair_->plan_first ? race_.candidates()[pair_->candidate].plan : Plan();
}

void PlanSearch::tell(double seconds) {
  --runs_left_;
  if (!pair_->first_seconds) {
    pair_->first_seconds = seconds;
    return;
  }
  const Pair pair = *std::exchange(pair_, std::nullopt);
  const double log_ratio = std::log(*pair.first_seconds / seconds);
  const PlanRace::Outcome outcome = race_.tell(pair.candidate, pair.plan_first ? -log_ratio : log_ratio);
  if (outcome.verdict != PlanRace::Verdict::won) return;
  best_ = race_.candidates()[pair.candidate].plan;
  gain_ = outcome.gain;
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
  const auto machine_state = read_machine_state(*allowed, topology, false);
  if (!machine_state) return std::unexpected(machine_state.error());
  const tuning::ProfileKey key = program_key(*program, settings.command, *allowed, size_of_file);

  const std::vector<Plan> candidates = candidate_plans(*topology, *allowed, machine::default_slice_ns() != 0);
  const int least = PlanSearch::least_runs() + 1;
  if (runs < least)
    return usage_error("{} runs are too few to be sure of anything; it takes {}, better three times as many",
                       runs, least);
  LearnReport report;
  const auto run_under = [&](const Plan& plan) -> Result<Summary> {
    const bool beside_others = others_are_running(*allowed);
    if (beside_others) ++report.beside_others;
    auto ran = run_quietly(settings, plan);
    if (!ran) return ran;
    // A program that ends in good order on a signal would look faster than under any plan.
    if (ran->asked_to_end_by != 0)
      return std::unexpected(Error{ErrorKind::interrupted,
                                   fmt::format("a signal has ended run {} of '{}': nothing is learnt",
                                               report.runs + 1, settings.command.front()),
                                   ran->asked_to_end_by});
    if (ran->status != 0)
      return failure(
          "run {} of '{}' ended with exit code {}; without its standard streams it must run as with "
          "them",
          report.runs + 1, settings.command.front(), shell_code(ran->status));
    ++report.runs;
    if (on_run) on_run(plan, ran->seconds, beside_others);
    return ran;
  };
  // The first run also reads files that later runs find in the page cache. So its time is not compared.
  const auto first = run_under(Plan());
  if (!first) return std::unexpected(first.error());
  const auto own = machine::scheduling_attributes(0);
  if (!own) return std::unexpected(own.error());
  const std::vector<Plan> differing =
      plans_that_differ(candidates, *machine_state, *own, first->threads.crowds);
  std::ranges::copy_if(candidates, std::back_inserter(report.left_out), [&](const Plan& plan) {
    return std::ranges::find(differing, plan) == differing.end();
  });
  PlanSearch search(differing, runs - 1, static_cast<std::uint64_t>(getpid()));
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
  for (const PlanRace::Candidate& candidate : report.candidates)
    if (!candidate.log_ratios.empty())
      profile.costs.push_back(
          {to_string(candidate.plan), std::exp(-estimate_gain(candidate.log_ratios, Confidence::p95).mean)});
  if (const auto saved = settings.profiles->save(key, profile); !saved) return std::unexpected(saved.error());
  return report;
}

}  // namespace millrace::placement
