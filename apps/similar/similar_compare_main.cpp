// Compares the strategies of a stream on image search: pairs of runs in one process.
//
//   similar_compare FOLDER [rounds]
//
// Indexes the images of FOLDER in memory. Then every contender queries all of them, ten answers each. In each
// round all contenders run once in a random order, and ratios are computed within a round, so that other load
// affects both sides. A ratio above 1 means that `stealing` is faster. Uses 1, 2 and 4 threads, whatever the
// number of CPUs.
#include "millrace/base/error/clock.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/pool/worker_pool.h"
#include "similar/run/index_run.h"
#include "similar/run/query_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace millrace;
using stream::Strategy;

[[noreturn]] void stop(const Error& error) {
  fmt::print(stderr, "similar_compare: {}\n", error.message);
  std::exit(exit_code(error));
}

struct Contender {
  std::string name;
  stream::RunOptions options;
  bool sized = true;  // the source tells sizes, which keeps tbb from using its parallel_pipeline
};

// Each strategy with its defaults, and tunable ones also with other settings.
std::vector<Contender> contenders(int threads) {
  std::vector<Contender> all{{"stealing", {.strategy = Strategy::stealing}},
                             {"tbb flow graph", {.strategy = Strategy::tbb}}};
  for (const int tokens : {1, 2, 4, 10})
    all.push_back({fmt::format("tbb pipeline, {} tokens/thread", tokens),
                   {.strategy = Strategy::tbb, .tokens = tokens * threads},
                   false});
  for (const int depth : {5, 20})
    for (const Strategy strategy : {Strategy::pools, Strategy::oversubscribed, Strategy::collapsed})
      all.push_back({fmt::format("{}, depth {}", stream::strategy_name(strategy), depth),
                     {.strategy = strategy, .queue_depth = depth}});
  for (Contender& contender : all)
    contender.options.threads = threads;
  return all;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

double seconds_of(const similar::ImageIndex& index, const std::vector<similar::ImageFile>& files,
                  const Contender& contender, pool::Team& team) {
  const std::int64_t start = now_ns();
  const auto finished =
      similar::run_query(index,
                         {.files = files,
                          .top = 10,
                          .options = contender.options,
                          .sized = contender.sized,
                          .on_answer = [](const similar::QueryAnswer&) { return Status(); }},
                         team);
  if (!finished.status) stop(finished.status.error());
  return seconds(now_ns() - start);
}

void compare(const similar::ImageIndex& index, const std::vector<similar::ImageFile>& files, int rounds,
             pool::PoolTeam team, std::mt19937& random) {
  const std::vector<Contender> all = contenders(team.size());
  std::vector<std::vector<double>> times(all.size());
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order)
      times[i].push_back(seconds_of(index, files, all[i], team));
  }
  fmt::print("\n{} threads\n{:<32} {:>9}   {:>28}\n", team.size(), "strategy", "images/s",
             "time / time of stealing");
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < times[i].size(); ++round)
      ratios.push_back(times[i][round] / times[0][round]);
    fmt::print("{:<32} {:>9.1f}   {:>10.3f} [{:.3f} .. {:.3f}]\n", all[i].name,
               static_cast<double>(files.size()) / quantile(times[i], 0.5), quantile(ratios, 0.5),
               quantile(ratios, 0.25), quantile(ratios, 0.75));
  }
  static_cast<void>(std::fflush(stdout));
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 9;
  bool understood = argc == 2 || argc == 3;
  if (argc == 3) {
    rounds = parse_number<int>(argv[2]).value_or(0);
    understood = rounds > 0;
  }
  if (!understood) {
    fmt::print(stderr, "usage: similar_compare FOLDER [rounds], rounds a whole number from 1\n");
    return 2;
  }
  const auto list = similar::images_in(argv[1]);
  if (!list) stop(list.error());
  const auto pool = pool::WorkerPool::create(4);
  if (!pool) stop(pool.error());
  pool::PoolTeam team = (*pool)->team();
  auto outcome = similar::run_index({.folder = argv[1], .files = list->files, .known = {}}, team);
  if (!outcome.status) stop(outcome.status.error());
  fmt::print("{} images asked about, {} indexed, {} rounds; medians [quartiles]\n", list->files.size(),
             outcome.index.images().size(), rounds);
  std::mt19937 random(1);
  for (const int threads : {1, 2, 4})
    compare(outcome.index, list->files, rounds, team.last(threads), random);
  return 0;
}
