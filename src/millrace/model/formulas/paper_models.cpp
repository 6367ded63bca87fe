#include "millrace/model/formulas/paper_models.h"

#include "millrace/model/formulas/queues.h"

#include <algorithm>
#include <limits>

namespace millrace::model::paper {

double closed_throughput(const std::vector<Station>& stations, int queue) {
  double longest = 0;
  for (const Station& station : stations)
    longest = std::max(longest, station.seconds);
  double least = std::numeric_limits<double>::infinity();
  for (const Station& station : stations) {
    const QueueMetrics metrics =
        finite_population_queue(station.threads, queue, queue, 1 / longest, 1 / station.seconds);
    least = std::min(least, metrics.throughput);
  }
  return least;
}

double open_throughput(const std::vector<Station>& stations) {
  double rate = std::numeric_limits<double>::infinity();
  for (const Station& station : stations)
    rate = open_queue(station.threads, rate, 1 / station.seconds).throughput;
  return rate;
}

namespace {

double serial_limit(const StealingInput& input) {
  return input.slowest_serial > 0 ? 1 / input.slowest_serial : std::numeric_limits<double>::infinity();
}

}  // namespace

StealingSteps stealing(const StealingInput& input) {
  const double rate = 1 / input.seconds;
  const int tokens = std::max(1, static_cast<int>(input.tokens_per_thread));
  StealingSteps steps;
  const QueueMetrics local = finite_population_queue(1, tokens, tokens, rate, rate);
  steps.local = local.throughput;
  steps.idle_elsewhere = (input.threads - 1) * (1 - local.utilisation);
  const double offered = local.utilisation * local.throughput * input.seconds;
  steps.stolen = offered * (1 - erlang_loss(steps.idle_elsewhere, offered));
  steps.with_stealing = finite_population_queue(1 + steps.stolen, tokens, tokens, rate, rate).throughput;
  steps.total = std::min({input.threads * steps.with_stealing, input.threads * rate, serial_limit(input)});
  return steps;
}

double central_queue_throughput(const StealingInput& input) {
  const double rate = 1 / input.seconds;
  const int tokens = std::max(1, static_cast<int>(input.tokens_per_thread * input.threads));
  const double shared = finite_population_queue(input.threads, tokens, tokens, rate, rate).throughput;
  return std::min(shared, serial_limit(input));
}

double run_seconds(std::int64_t items, double throughput) { return static_cast<double>(items) / throughput; }

double closed_upper_bound(const std::vector<Station>& stations) {
  double least = std::numeric_limits<double>::infinity();
  for (const Station& station : stations)
    least = std::min(least, station.threads / station.seconds);
  return least;
}

int optimal_queue(const std::vector<Station>& stations, int most) {
  const double bound = closed_upper_bound(stations);
  for (int queue = 1; queue <= most; ++queue) {
    if (closed_throughput(stations, queue) >= reaches * bound) return queue;
  }
  return 0;
}

int optimal_tokens_per_thread(StealingInput input, int most) {
  const double bound = std::min(input.threads / input.seconds, serial_limit(input));
  for (int tokens = 1; tokens <= most; ++tokens) {
    input.tokens_per_thread = tokens;
    if (stealing(input).total >= reaches * bound) return tokens;
  }
  return 0;
}

int optimal_threads(std::vector<Station> stations, int queue, int most) {
  const auto throughput_with = [&](int threads) {
    for (Station& station : stations) {
      if (!station.serial) station.threads = threads;
    }
    return closed_throughput(stations, queue);
  };
  const double best = throughput_with(most);
  int threads = 1;
  while (threads < most && throughput_with(threads) < reaches * best)
    ++threads;
  return threads;
}

int optimal_stealing_threads(StealingInput input, int most) {
  for (input.threads = 1; input.threads <= most; ++input.threads) {
    if (stealing(input).total >= reaches * serial_limit(input)) return input.threads;
  }
  return 0;
}

}  // namespace millrace::model::paper
