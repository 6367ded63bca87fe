#include "millrace/model/report/model_report.h"

#include "millrace/base/text/printable.h"
#include "millrace/model/pipeline/duration_text.h"

#include <algorithm>
#include <functional>

namespace millrace::model {
namespace {

// A plan within this factor of the fastest is as good if it needs less.
constexpr double as_good = 1.03;

Status check(const ModelQuestion& question) {
  if (question.cores.empty()) return usage_error("no number of threads; give at least one, such as 1..8");
  for (const int cores : question.cores) {
    if (cores < 1 || cores > 1024) return usage_error("{} threads; give 1 to 1024", cores);
  }
  if (question.machine_cores && (*question.machine_cores < 1 || *question.machine_cores > 1024))
    return usage_error("{} cores; give 1 to 1024", *question.machine_cores);
  if (question.strategies.empty()) return usage_error("no strategy; give at least one");
  if (question.tokens && (*question.tokens < 1 || *question.tokens > 1'000'000))
    return usage_error("{} tokens; give 1 to 1000000", *question.tokens);
  if (question.queue && (*question.queue < 1 || *question.queue > 1'000'000))
    return usage_error("a queue of {} items; give 1 to 1000000", *question.queue);
  if (question.items < 1 || question.items > 1'000'000'000'000)
    return usage_error("{} items; give 1 to 1000000000000", question.items);
  return {};
}

// Among the plans as good as the fastest, the one with the fewest cores, then the fewest threads.
std::size_t recommend(const std::vector<ModelRow>& rows) {
  const double fastest = std::ranges::min_element(rows, {}, [](const ModelRow& row) {
                           return row.prediction.point_seconds;
                         })->prediction.point_seconds;
  std::size_t best = rows.size();
  const auto rank = [&](const ModelRow& row) { return std::pair(row.plan.cores, row.plan.threads()); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].prediction.point_seconds > as_good * fastest) continue;
    if (best == rows.size() || rank(rows[i]) < rank(rows[best])) best = i;
  }
  return best;
}

std::string memory_text(const Plan& plan) {
  if (plan.strategy == Strategy::stealing) return fmt::format("{} tokens", plan.tokens);
  return fmt::format("queues of {}", plan.queue);
}

std::string why(const ModelReport& report) {
  const ModelRow& chosen = report.rows[report.recommended];
  const ModelRow& fastest = *std::ranges::min_element(
      report.rows, {}, [](const ModelRow& row) { return row.prediction.point_seconds; });
  std::string text =
      &chosen == &fastest
          ? std::string("it is the fastest")
          : fmt::format("it is within {:.1f} % of the fastest ({} on {} cores) and needs the fewest cores "
                        "and threads",
                        100 * (chosen.prediction.point_seconds / fastest.prediction.point_seconds - 1),
                        to_string(fastest.plan.strategy), fastest.plan.cores);
  const ModelRow* next = nullptr;  // the best of the other strategies with the same number of cores
  for (const ModelRow& row : report.rows) {
    if (row.plan.cores != chosen.plan.cores || row.plan.strategy == chosen.plan.strategy) continue;
    if (next == nullptr || row.prediction.point_seconds < next->prediction.point_seconds) next = &row;
  }
  if (next != nullptr)
    text += fmt::format("; next on as many cores is {} with {}", to_string(next->plan.strategy),
                        seconds_text(next->prediction.point_seconds));
  return text + fmt::format("; {} limits it", printable(chosen.prediction.limit));
}

std::string threads_text(const Plan& plan) {
  if (plan.strategy == Strategy::stealing) return std::to_string(plan.threads());
  std::string text;
  for (const Pool& pool : plan.pools)
    text += fmt::format("{}{}", text.empty() ? "" : "+", pool.threads);
  return text.size() <= 24 ? text : std::to_string(plan.threads());
}

Plan plan_for(const Pipeline& pipeline, Strategy strategy, int cores, const ModelQuestion& question,
              const std::function<bool()>& stops) {
  const bool steals = strategy == Strategy::stealing;
  const int tokens = question.tokens && (steals || question.machine_cores) ? *question.tokens
                     : steals ? sufficient_tokens(pipeline, cores, stops)
                              : 0;
  const int queue = steals           ? 1
                    : question.queue ? *question.queue
                                     : sufficient_queue(pipeline, strategy, cores, stops);
  return question.machine_cores
             ? make_runtime_plan(pipeline, strategy, cores, *question.machine_cores, queue, tokens)
             : make_plan(pipeline, strategy, cores, queue, tokens);
}

}  // namespace

Result<ModelReport> answer(const Pipeline& pipeline, const ModelQuestion& question) {
  if (const Status possible = model::check(pipeline); !possible) return std::unexpected(possible.error());
  if (const Status possible = check(question); !possible) return std::unexpected(possible.error());
  const auto demand = demands(pipeline);
  const auto items = static_cast<double>(question.items);
  ModelReport report{.pipeline = pipeline,
                     .items = question.items,
                     .sequential_seconds = items * total_demand(pipeline),
                     .simulated = question.simulate,
                     .of_runtime = question.machine_cores.has_value()};
  if (const int serial = slowest_serial_stage(pipeline); serial >= 0) {
    report.slowest_serial = pipeline.stages[static_cast<std::size_t>(serial)].name;
    report.serial_seconds = items * demand[static_cast<std::size_t>(serial)];
  }
  bool stopped = false;
  const std::function<bool()> stops = [&] {
    return stopped = stopped || (question.stops && question.stops());
  };
  for (const Strategy strategy : question.strategies) {
    for (const int cores : question.cores) {
      ModelRow row{.asked = cores, .plan = plan_for(pipeline, strategy, cores, question, stops)};
      row.plan.sharing = question.sharing;
      row.prediction = predict(pipeline, row.plan, question.items, stops);
      if (stops())
        return std::unexpected(
            Error{ErrorKind::interrupted, "the prediction was interrupted before its end"});
      if (question.simulate) {
        auto simulated = predict_by_simulation(pipeline, row.plan, question.items, question.simulated,
                                               question.runs, question.seed, stops);
        if (!simulated) return std::unexpected(simulated.error());
        row.prediction = std::move(*simulated);
      }
      row.speed_up = report.sequential_seconds / row.prediction.point_seconds;
      report.rows.push_back(std::move(row));
    }
  }
  report.recommended = recommend(report.rows);
  report.why = why(report);
  return report;
}

std::string to_text(const ModelReport& report) {
  std::string text =
      fmt::format("{} items, {} sequential", report.items, seconds_text(report.sequential_seconds));
  if (!report.slowest_serial.empty())
    text += fmt::format("; never below {}, the time of serial stage {}", seconds_text(report.serial_seconds),
                        printable(report.slowest_serial));
  text += fmt::format("\n\n{:<15} {:>5}  {:<24} {:>7} {:>12} {:>25} {:>9} {:>6}  {}\n", "strategy", "cores",
                      "threads", "tokens/", "time", "interval", "speed-up", "eff.", "limit");
  text += fmt::format("{:<15} {:>5}  {:<24} {:>7}\n", "", "", "", "queue");
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const ModelRow& row = report.rows[i];
    const Prediction& p = row.prediction;
    const Plan& plan = row.plan;
    text += fmt::format(
        "{:<15} {:>5}  {:<24} {:>7} {:>12} {:>25} {:>9.2f} {:>5.0f}%  {}{}\n", to_string(plan.strategy),
        plan.cores, threads_text(plan), plan.strategy == Strategy::stealing ? plan.tokens : plan.queue,
        seconds_text(p.point_seconds),
        fmt::format("{} .. {}", seconds_text(p.low_seconds), seconds_text(p.high_seconds)), row.speed_up,
        100 * row.speed_up / plan.cores, printable(p.limit), i == report.recommended ? "  <-" : "");
  }
  const ModelRow& chosen = report.rows[report.recommended];
  return text +
         fmt::format("\nTake {} on {} cores with {} threads and {}: {}, {:.2f} times as fast as sequential.\n"
                     "Why: {}.\n",
                     to_string(chosen.plan.strategy), chosen.plan.cores, threads_text(chosen.plan),
                     memory_text(chosen.plan), seconds_text(chosen.prediction.point_seconds), chosen.speed_up,
                     report.why);
}

}  // namespace millrace::model
