#include "millrace/model/report/paper_cases.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/model/pipeline/duration_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

constexpr int paper_tokens_per_thread = 5;

std::vector<paper::Station> collapse(const std::vector<paper::Station>& stations) {
  std::vector<paper::Station> result;
  for (const paper::Station& station : stations) {
    if (!station.serial && !result.empty() && !result.back().serial)
      result.back().seconds += station.seconds;
    else
      result.push_back(station);
  }
  return result;
}

void share(std::vector<paper::Station>& stations, int threads) {
  const auto parallel = std::ranges::count(stations, false, &paper::Station::serial);
  for (paper::Station& station : stations) {
    if (!station.serial) station.threads = std::max(1, threads / static_cast<int>(parallel));
  }
}

double throughput(PaperCase which, std::vector<paper::Station> stations, const Pipeline& pipeline,
                  const PaperQuestion& question, int threads) {
  if (which == PaperCase::closed || which == PaperCase::open) {
    share(stations, threads);
    return which == PaperCase::closed ? paper::closed_throughput(stations, question.queue)
                                      : paper::open_throughput(stations);
  }
  const int slowest = slowest_serial_stage(pipeline);
  const double tokens = question.tokens.value_or(paper_tokens_per_thread * threads);
  const paper::StealingInput input{.seconds = total_demand(pipeline),
                                   .slowest_serial =
                                       slowest < 0 ? 0 : demands(pipeline)[static_cast<std::size_t>(slowest)],
                                   .threads = threads,
                                   .tokens_per_thread = tokens / threads};
  return which == PaperCase::stealing ? paper::stealing(input).total : paper::central_queue_throughput(input);
}

}  // namespace

std::string_view to_string(PaperCase which) {
  switch (which) {
  case PaperCase::closed:
    return "closed";
  case PaperCase::open:
    return "open";
  case PaperCase::stealing:
    return "stealing";
  case PaperCase::ideal:
    return "ideal";
  }
  return "";
}

Result<PaperCase> paper_case_of(std::string_view name) {
  for (const PaperCase which : all_paper_cases)
    if (name == to_string(which)) return which;
  return usage_error("{} is not a case of the paper's; use closed, open, stealing or ideal", in_quotes(name));
}

std::vector<paper::Station> paper_stations(const Pipeline& pipeline, int threads) {
  std::vector<paper::Station> result;
  const auto demand = demands(pipeline);
  for (std::size_t i = 0; i < demand.size(); ++i) {
    // A stage without work delays nothing, and a queue in front of it has no rate.
    if (!(demand[i] > 0)) continue;
    const bool serial = !pipeline.stages[i].is_parallel();
    result.push_back({demand[i], serial ? 1 : threads, serial});
  }
  return result;
}

Result<std::vector<PaperRow>> paper_answer(const Pipeline& pipeline, const PaperQuestion& question) {
  if (const Status possible = check(pipeline); !possible) return std::unexpected(possible.error());
  if (question.queue < 1 || question.queue > 100'000)
    return usage_error("a queue of {} items; give the paper's models 1 to 100000", question.queue);
  if (question.tokens && (*question.tokens < 1 || *question.tokens > 100'000))
    return usage_error("{} tokens; give the paper's models 1 to 100000", *question.tokens);
  const double sequential = total_demand(pipeline);
  const auto stages = paper_stations(pipeline, 1);
  const auto fewer = collapse(stages);
  std::vector<PaperRow> rows;
  for (const PaperCase which : question.cases) {
    const bool of_stages = which == PaperCase::closed || which == PaperCase::open;
    for (const bool collapsed : {false, true}) {
      if (collapsed && (!of_stages || fewer.size() == stages.size())) continue;
      for (const int threads : question.threads) {
        if (threads < 1 || threads > 1024) return usage_error("{} threads; give 1 to 1024", threads);
        const double rate = throughput(which, collapsed ? fewer : stages, pipeline, question, threads);
        rows.push_back({.which = which,
                        .collapsed = collapsed,
                        .threads = threads,
                        .seconds = paper::run_seconds(question.items, rate),
                        .speed_up = sequential * rate});
      }
    }
  }
  return rows;
}

std::string to_text(const std::vector<PaperRow>& rows) {
  std::string text =
      fmt::format("\nBy the models of Navarro et al. 2009:\n\n{:<10} {:<11} {:>7} {:>12} {:>9} {:>6}\n",
                  "case", "stages", "threads", "time", "speed-up", "eff.");
  for (const PaperRow& row : rows) {
    const bool of_stages = row.which == PaperCase::closed || row.which == PaperCase::open;
    text +=
        fmt::format("{:<10} {:<11} {:>7} {:>12} {:>9.2f} {:>5.0f}%\n", to_string(row.which),
                    !of_stages      ? ""
                    : row.collapsed ? "collapsed"
                                    : "as they are",
                    row.threads, seconds_text(row.seconds), row.speed_up, 100 * row.speed_up / row.threads);
  }
  return text;
}

nlohmann::json to_json(const std::vector<PaperRow>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const PaperRow& row : rows) {
    all.push_back({{"case", to_string(row.which)},
                   {"collapsed", row.collapsed},
                   {"threads", row.threads},
                   {"seconds", row.seconds},
                   {"speed_up", row.speed_up}});
  }
  return all;
}

}  // namespace millrace::model
