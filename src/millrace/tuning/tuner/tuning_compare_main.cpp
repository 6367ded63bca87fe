// Compares the tuner with the obvious alternatives on the same simulated streams.
//
//   tuning_compare [seeds]      medians over this many streams per line; default 9
#include "millrace/tuning/tuner/simulated_stream_testing.h"

#include <chrono>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace {

using namespace millrace::tuning;
using namespace millrace::tuning::testing;

struct Case {
  std::string_view name;
  WorkloadSize size;
  double frame_seconds;
  bool step = false;        // costs change after half of the stream, unannounced
  bool build = false;       // candidates with fusion must be compiled first, 1 s each
  bool neighbours = false;  // the machine is 1.8 times slower for about 1 of every 2.5 seconds
};

constexpr double stream_seconds = 60;

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void print_line(const Case& shown, std::string_view method, const std::vector<StreamResult>& results) {
  const auto each = [&](auto member) {
    std::vector<double> values;
    for (const StreamResult& result : results)
      values.push_back(static_cast<double>(result.*member));
    return values;
  };
  double false_switches = 0;
  for (const StreamResult& result : results)
    false_switches += result.false_switches;
  const double hours = static_cast<double>(results.size()) * stream_seconds / 3600;
  fmt::print("{:<26} {:<15} {:>7.2f} {:>7.2f} {:>9.2f} {:>9.2f} {:>8.1f} {:>8.1f} {:>8.0f}\n", shown.name,
             method, 100 * quantile(each(&StreamResult::loss), 0.5),
             100 * quantile(each(&StreamResult::loss), 1), quantile(each(&StreamResult::settled), 0.5),
             quantile(each(&StreamResult::settled), 0.9),
             100 / quantile(each(&StreamResult::final_ratio), 0.5),
             100 / quantile(each(&StreamResult::final_ratio), 1), false_switches / hours);
}

void compare(const Case& shown, int seeds) {
  std::vector<StreamResult> tuned;
  std::vector<StreamResult> greedy;
  std::vector<StreamResult> ucb;
  std::vector<StreamResult> once;
  for (int i = 1; i <= seeds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const auto workload = [&] { return SimulatedWorkload(shown.size, shown.frame_seconds, seed); };
    const auto prior = workload().prior(seed + 100);
    StreamOptions options{.seconds = stream_seconds, .seed = seed};
    if (shown.step) {
      options.change_at = stream_seconds / 2;
      options.change = [seed](SimulatedWorkload& changed) { changed.redraw(seed + 1000, 0.8); };
    }
    if (shown.build) options.compile_seconds = 1;
    if (shown.neighbours) options.noise = {.burst_every = 1.5, .burst_seconds = 1, .burst_slowdown = 1.8};
    {
      SimulatedWorkload work = workload();
      TunerOptions tuner_options{.seed = seed, .prior = prior};
      if (shown.build) tuner_options.build = work.builds();
      auto tuner = Tuner::make(work.space(), std::move(tuner_options));
      tuned.push_back(run_tuner(work, *tuner, options));
    }
    const auto run = [&](auto&& alternative, std::vector<StreamResult>& results) {
      SimulatedWorkload work = workload();
      results.push_back(run_alternative(work, alternative, options));
    };
    if (shown.build) continue;
    run(EpsilonGreedy(prior, 0.05, seed), greedy);
    run(Ucb1(prior), ucb);
    run(ExploreOnce(prior, 3), once);
  }
  print_line(shown, "tuner", tuned);
  if (shown.build) return;
  print_line(shown, "epsilon-greedy", greedy);
  print_line(shown, "UCB1", ucb);
  print_line(shown, "explore-once", once);
}

// Compared with keeping the first guess, which is as good as that of a caller who knows the machine.
void compare_known_end(std::int64_t frames, double frame_seconds, bool build, int seeds) {
  std::vector<double> loss;
  double trials = 0;
  for (int i = 1; i <= seeds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    SimulatedWorkload work({.tiles = 4}, frame_seconds, seed);
    constexpr double cold = 3;
    TunerOptions tuner_options{.seed = seed, .prior = work.prior(seed + 100, 0.1)};
    if (build) tuner_options.build = work.builds();
    auto tuner = Tuner::make(work.space(), std::move(tuner_options));
    const double guess = work.ratio(tuner->ask().candidate);
    const StreamResult result = run_tuner(
        work, *tuner, {.frames = frames, .cold = cold, .seed = seed, .compile_seconds = build ? 1.0 : 0.0});
    loss.push_back(100 * (1 - guess * (1 + cold / static_cast<double>(frames)) / (1 + result.loss)));
    trials += static_cast<double>(tuner->record().count(EventKind::trial)) / seeds;
  }
  fmt::print("{:>6} frames of {:>4.1f} ms{:<10} {:>8.2f} {:>8.2f} {:>8.1f}\n", frames, 1e3 * frame_seconds,
             build ? ", compiled" : "", quantile(loss, 0.5), quantile(loss, 1), trials);
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  fmt::print(
      "Simulated streams of {} s, {} for each line. loss: time over that of the best candidate throughout.\n"
      "settled: seconds from the start (or the step) until within 5 % of the best for good. final: speed of\n"
      "the last incumbent relative to the best. false: switches to something over 1 % slower, an hour.\n\n",
      stream_seconds, seeds);
  fmt::print("{:<26} {:<15} {:>7} {:>7} {:>9} {:>9} {:>8} {:>8} {:>8}\n", "case", "method", "loss %", "worst",
             "settled s", "90 %", "final %", "worst", "false/h");
  const WorkloadSize small{.structures = 6, .fusions = 2, .tiles = 2, .threads = 2, .in_flight = 1};
  const WorkloadSize middle{.structures = 6, .fusions = 4, .tiles = 4, .threads = 2, .in_flight = 2};
  const WorkloadSize large{.structures = 6, .fusions = 4, .tiles = 5, .threads = 4, .in_flight = 1};
  compare({"small, 1 ms", small, 0.001}, seeds);
  compare({"middle, 0.3 ms", middle, 0.0003}, seeds);
  compare({"middle, 3 ms", middle, 0.003}, seeds);
  compare({"middle, 20 ms", middle, 0.020}, seeds);
  compare({"large, 3 ms", large, 0.003}, seeds);
  compare({"large, 20 ms", large, 0.020}, seeds);
  compare({"middle, 3 ms, step", middle, 0.003, true}, seeds);
  compare({"middle, 20 ms, step", middle, 0.020, true}, seeds);
  compare({"middle, 3 ms, compiled", middle, 0.003, false, true}, seeds);
  compare({"middle, 20 ms, compiled", middle, 0.020, false, true}, seeds);
  compare({"middle, 0.3 ms, neighbours", middle, 0.0003, false, false, true}, seeds);
  compare({"middle, 3 ms, neighbours", middle, 0.003, false, false, true}, seeds);
  fmt::print(
      "\nStreams whose end is known: the share of their time lost by trying, in percent (below 0: won).\n\n"
      "{:<33} {:>8} {:>8} {:>8}\n",
      "", "median", "worst", "trials");
  for (const bool build : {false, true}) {
    for (const double frame_seconds : {0.0003, 0.003, 0.02}) {
      for (const std::int64_t frames : {60, 120, 360, 1200, 3600})
        compare_known_end(frames, frame_seconds, build, 3 * seeds);
    }
  }
  return 0;
}
