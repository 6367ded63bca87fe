#include "millrace/model/report/superdome_ferret.h"

#include "millrace/model/formulas/paper_models.h"
#include "millrace/model/prediction/prediction.h"
#include "millrace/model/report/paper_cases.h"

namespace millrace::model {
namespace {

using enum FerretVariant;

constexpr std::array entries{
    FerretEntry{own_cores, 1, 370.6, true},      FerretEntry{own_cores, 2, 186.6, false},
    FerretEntry{own_cores, 4, 94.8, false},      FerretEntry{own_cores, 8, 47.9, false},
    FerretEntry{own_cores, 16, 38.4, false},     FerretEntry{oversubscribed, 1, 438.4, true},
    FerretEntry{oversubscribed, 2, 220.8, true}, FerretEntry{oversubscribed, 4, 111.8, true},
    FerretEntry{oversubscribed, 8, 69.2, false}, FerretEntry{oversubscribed, 16, 48.8, false},
    FerretEntry{stealing_6, 1, 437.65, false},   FerretEntry{stealing_6, 2, 221.13, false},
    FerretEntry{stealing_6, 4, 112.59, false},   FerretEntry{stealing_6, 8, 58.5, false},
    FerretEntry{stealing_6, 16, 35.87, false},   FerretEntry{stealing_6, 32, 33.14, false},
    FerretEntry{stealing_6, 64, 35.66, false},   FerretEntry{stealing_3, 1, 442.88, false},
    FerretEntry{stealing_3, 2, 223.5, false},    FerretEntry{stealing_3, 4, 113.58, false},
    FerretEntry{stealing_3, 8, 59.56, false},    FerretEntry{stealing_3, 16, 36.98, false},
    FerretEntry{stealing_3, 32, 33.42, false},   FerretEntry{stealing_3, 64, 36.44, false}};

constexpr int ferret_queue = 20;
constexpr int ferret_tokens_per_thread = 5;

Stage stage(const char* name, StageKind kind, double run_seconds, double slowdown) {
  return {.name = name,
          .kind = kind,
          .service = ServiceTime::exponential(run_seconds / static_cast<double>(ferret_items)),
          .slowdown = slowdown};
}

double rest(const FerretTimes& times) {
  return ferret_sequential_seconds - times.load - times.rank - times.out;
}

Plan plan_for(const FerretEntry& entry, const Pipeline& six, const Pipeline& three) {
  const int c = entry.threads;
  switch (entry.variant) {
  case stealing_6:
    return make_plan(six, Strategy::stealing, c, 1, ferret_tokens_per_thread * c);
  case stealing_3:
    return make_plan(three, Strategy::stealing, c, 1, ferret_tokens_per_thread * c);
  case own_cores:
  case oversubscribed:
    break;
  }
  Plan plan = make_plan(six, Strategy::oversubscribed, c, ferret_queue, 0);
  if (entry.variant == own_cores) plan.cores = plan.threads();
  return plan;
}

paper::StealingInput stealing_input(const FerretTimes& times, int threads) {
  const auto items = static_cast<double>(ferret_items);
  return {.seconds = ferret_sequential_seconds / items,
          .slowest_serial = times.load / items,
          .threads = threads,
          .tokens_per_thread = ferret_tokens_per_thread};
}

std::optional<double> paper_seconds(const FerretEntry& entry, const Pipeline& six, const FerretTimes& times) {
  if (entry.variant == oversubscribed) return std::nullopt;
  const double throughput = entry.variant == own_cores
                                ? paper::closed_throughput(paper_stations(six, entry.threads), ferret_queue)
                                : paper::stealing(stealing_input(times, entry.threads)).total;
  return paper::run_seconds(ferret_items, throughput);
}

}  // namespace

std::string_view to_string(FerretVariant variant) {
  switch (variant) {
  case own_cores:
    return "pools, own cores";
  case oversubscribed:
    return "pools, oversubscribed";
  case stealing_6:
    return "stealing, 6 stages";
  case stealing_3:
    return "stealing, 3 stages";
  }
  return "";
}

std::span<const FerretEntry> ferret_entries() { return entries; }

Pipeline ferret_pipeline(const FerretTimes& times) {
  const double between = rest(times);
  const auto& [seg, extract, vec] = times.division;
  return {{stage("load", StageKind::serial, times.load, 0),
           stage("seg", StageKind::parallel, between * seg, times.slowdown),
           stage("extract", StageKind::parallel, between * extract, times.slowdown),
           stage("vec", StageKind::parallel, between * vec, times.slowdown),
           stage("rank", StageKind::parallel, times.rank, times.slowdown),
           stage("out", StageKind::serial, times.out, times.slowdown)}};
}

Pipeline ferret_collapsed(const FerretTimes& times) {
  return {{stage("load", StageKind::serial, times.load, 0),
           stage("seg-to-rank", StageKind::parallel, rest(times) + times.rank, times.slowdown),
           stage("out", StageKind::serial, times.out, times.slowdown)}};
}

Result<std::vector<FerretPrediction>> predict_ferret(const FerretTimes& times, int runs) {
  const Pipeline six = ferret_pipeline(times);
  const Pipeline three = ferret_collapsed(times);
  std::vector<FerretPrediction> result;
  for (const FerretEntry& entry : entries) {
    const Pipeline& pipeline = entry.variant == stealing_3 ? three : six;
    Plan plan = plan_for(entry, six, three);
    FerretPrediction prediction{.entry = entry,
                                .paper_model = paper_seconds(entry, six, times),
                                .formulas = predict(pipeline, plan, ferret_items).point_seconds};
    const auto simulated = [&]() -> Result<double> {
      const auto found = predict_by_simulation(pipeline, plan, ferret_items, ferret_items, runs, 1);
      if (!found) return std::unexpected(found.error());
      return found->point_seconds;
    };
    if (entry.variant == oversubscribed) {
      const auto balanced = simulated();
      if (!balanced) return std::unexpected(balanced.error());
      prediction.simulation_balanced = *balanced;
      plan.sharing = CoreSharing::sticky;
    }
    const auto seconds = simulated();
    if (!seconds) return std::unexpected(seconds.error());
    prediction.simulation = *seconds;
    result.push_back(prediction);
  }
  return result;
}

std::vector<SizingResult> paper_sizing(const FerretTimes& times) {
  const Pipeline six = ferret_pipeline(times);
  const Pipeline three = ferret_collapsed(times);
  const int plenty = 64;  // threads, so that only the queue limits
  // dedup: 89.37 s sequential; at best "close to 5" times as fast, limited by the output stage.
  const paper::StealingInput dedup{
      .seconds = 89.37, .slowest_serial = 89.37 / 5, .threads = 5, .tokens_per_thread = 3};
  return {
      {"ferret, 6 stages: items in a queue", 21, paper::optimal_queue(paper_stations(six, plenty))},
      {"ferret, 3 stages: items in a queue", 24, paper::optimal_queue(paper_stations(three, plenty))},
      {"ferret, 6 stages: threads in a stage (queue of 20)", 12,
       paper::optimal_threads(paper_stations(six, 1), ferret_queue)},
      {"ferret, 3 stages: threads (queue of 20)", 15,
       paper::optimal_threads(paper_stations(three, 1), ferret_queue)},
      {"ferret, stealing: tokens a thread", 5, paper::optimal_tokens_per_thread(stealing_input(times, 8))},
      {"ferret, stealing: threads (5 tokens each)", 15,
       paper::optimal_stealing_threads(stealing_input(times, 1))},
      {"dedup, stealing: tokens a thread", 3, paper::optimal_tokens_per_thread(dedup)},
      {"dedup, stealing: threads (3 tokens each)", 5, paper::optimal_stealing_threads(dedup)},
  };
}

}  // namespace millrace::model
