// Prints the time of streams with real work: `stealing` and `auto` against oneTBB's parallel_pipeline and, if
// configured with its headers (-DMILLRACE_TASKFLOW=folder), Taskflow's pipeline.
//
//   workloads_compare [rounds] [milliseconds per batch] [workload...]
//
// Linear: all stages take the same time. Skewed: one takes ten times as long. Bimodal: one item in 32 takes
// 50 times as long. Bursty: the source sleeps for a millisecond before every 64 items. Nested: each item runs
// a stream of 32 small ones. Rounds and contenders are as in stream_compare: the others are judged by the
// best of 1, 2, 4 and 10 tokens (lines) per thread, ours by its default.
#include "millrace/base/text/count_argument.h"
#include "millrace/pool/serial_team.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/paired_rounds_testing.h"

#ifdef MILLRACE_COMPARES_TASKFLOW
#include "millrace/stream/taskflow_testing.h"
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

namespace {

using namespace millrace;
using stream::Contender;
using stream::Kind;

using Item = std::uint64_t;

// About a nanosecond per step, which the compiler cannot shorten.
void work(std::int64_t steps) {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < steps; ++i)
    asm volatile("" : "+r"(value = value * 6364136223846793005U + 1442695040888963407U));
}

// Three parallel stages and an in-order stage.
constexpr std::size_t stage_count = 4;
constexpr Item small_items = 32;  // of a nested stream

struct Workload {
  std::string_view name;
  double item_ns;  // approximate
  std::int64_t (*steps)(std::size_t stage, Item item);
  bool bursty = false;
  bool nested = false;
};

constexpr std::array workloads{
    Workload{"linear", 6500, [](std::size_t stage, Item) { return stage == 3 ? std::int64_t{500} : 2000; }},
    Workload{"skewed", 12'500,
             [](std::size_t stage, Item) { return stage == 1 ? std::int64_t{10'000} : 800; }},
    Workload{"bimodal", 5600,
             [](std::size_t stage, Item item) {
               const std::int64_t base = stage == 3 ? 100 : 700;
               // Pseudo-random: unrelated to the number of items in flight.
               return item * 2654435761U >> 13 & 31U ? base : 50 * base;
             }},
    Workload{"bursty", 18'000, [](std::size_t stage, Item) { return stage == 3 ? std::int64_t{200} : 2500; },
             true},
    Workload{"nested", 8000, [](std::size_t stage, Item) { return stage == 3 ? std::int64_t{200} : 500; },
             false, true},
};

// The source of all contenders.
bool make(const Workload& workload, Item& next, Item items, Item& item) {
  if (next == items) return false;
  if (workload.bursty && next % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  item = next++;
  return true;
}

template <class T> T made(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}
void check(const stream::Finished& finished) {
  if (finished.status) return;
  fmt::print(stderr, "{}\n", finished.status.error().message);
  std::exit(1);
}

constexpr std::int64_t small_steps = 100;

// A stream that is run repeatedly, and its team of one.
class SmallStream {
 public:
  SmallStream()
      : next_(std::make_unique<Item>(0)),
        stream_(made(stream::source("count",
                                    [next = next_.get()]() -> std::optional<Item> {
                                      return *next < small_items ? std::optional((*next)++) : std::nullopt;
                                    })
                         .stage(Kind::parallel, "work",
                                [](Item item) {
                                  work(small_steps);
                                  return item;
                                })
                         .sink(Kind::serial_in_order, "sink", [](Item) {}))) {}
  void run() {
    *next_ = 0;
    check(stream_.run(team_, {.strategy = stream::Strategy::stealing}));
  }

 private:
  std::unique_ptr<Item> next_;
  stream::Stream stream_;
  pool::SerialTeam team_;
};

class OurRun {
 public:
  OurRun(const Workload& workload, Item items)
      : workload_(workload), items_(items),
        stream_(made(stream::source("count",
                                    [this]() -> std::optional<Item> {
                                      Item item = 0;
                                      return make(workload_, next_, items_, item) ? std::optional(item)
                                                                                  : std::nullopt;
                                    })
                         .stage(Kind::parallel, "a", of_stage(0))
                         .stage_with(
                             Kind::parallel, "b", [] { return std::make_unique<SmallStream>(); },
                             [this](std::unique_ptr<SmallStream>& small, Item item) {
                               if (workload_.nested) small->run();
                               work(workload_.steps(1, item));
                               return item;
                             })
                         .stage(Kind::parallel, "c", of_stage(2))
                         .sink(Kind::serial_in_order, "sink",
                               [this](Item item) { work(workload_.steps(3, item)); }))) {}
  void run(pool::Team& team, stream::Strategy strategy) {
    next_ = 0;
    check(stream_.run(team, {.strategy = strategy}));
  }

 private:
  [[nodiscard]] std::function<Item(Item)> of_stage(std::size_t stage) const {
    return [this, stage](Item item) {
      work(workload_.steps(stage, item));
      return item;
    };
  }

  const Workload& workload_;
  Item items_;
  Item next_ = 0;
  stream::Stream stream_;
};

void run_small_in_tbb() {
  Item next = 0;
  tbb::parallel_pipeline(4, tbb::make_filter<void, Item>(tbb::filter_mode::serial_in_order,
                                                         [&](tbb::flow_control& control) -> Item {
                                                           if (next == small_items) control.stop();
                                                           return next++;
                                                         }) &
                                tbb::make_filter<Item, Item>(tbb::filter_mode::parallel,
                                                             [](Item item) {
                                                               work(small_steps);
                                                               return item;
                                                             }) &
                                tbb::make_filter<Item, void>(tbb::filter_mode::serial_in_order, [](Item) {}));
}

void run_tbb(const Workload& workload, Item items, tbb::task_arena& arena, int tokens) {
  Item next = 0;
  const auto stage = [&workload](std::size_t index) {
    return tbb::make_filter<Item, Item>(tbb::filter_mode::parallel, [&workload, index](Item item) {
      if (index == 1 && workload.nested) run_small_in_tbb();
      work(workload.steps(index, item));
      return item;
    });
  };
  const auto whole = tbb::make_filter<void, Item>(tbb::filter_mode::serial_in_order,
                                                  [&](tbb::flow_control& control) -> Item {
                                                    Item item = 0;
                                                    if (!make(workload, next, items, item)) control.stop();
                                                    return item;
                                                  }) &
                     stage(0) & stage(1) & stage(2) &
                     tbb::make_filter<Item, void>(tbb::filter_mode::serial_in_order,
                                                  [&workload](Item item) { work(workload.steps(3, item)); });
  arena.execute([&] { tbb::parallel_pipeline(static_cast<std::size_t>(tokens), whole); });
}

#ifdef MILLRACE_COMPARES_TASKFLOW
void run_small_in_taskflow(tf::Executor& executor) {
  Item next = 0;
  stream::TaskflowLine small(
      4, {false, true},
      [&](Item& item) {
        item = next;
        return next++ < small_items;
      },
      [](std::size_t stage, Item item) {
        if (stage == 0) work(small_steps);
        return item;
      });
  small.run_within(executor);
}

void run_taskflow(const Workload& workload, Item items, tf::Executor& executor, int lines) {
  Item next = 0;
  stream::TaskflowLine line(
      static_cast<std::size_t>(lines), {false, false, false, true},
      [&](Item& item) { return make(workload, next, items, item); },
      [&](std::size_t stage, Item item) {
        if (stage == 1 && workload.nested) run_small_in_taskflow(executor);
        work(workload.steps(stage, item));
        return item;
      });
  line.run(executor);
}
#endif

constexpr std::array tokens_per_thread{1, 2, 4, 10};

void compare(const Workload& workload, pool::PoolTeam team, int rounds, int batch_ms, std::mt19937& random) {
  const int threads = team.size();
  const auto items = static_cast<Item>(batch_ms * 1e6 / workload.item_ns * threads);
  OurRun ours(workload, items);
  tbb::task_arena arena(threads);
  std::vector<Contender> contenders{
      {"stealing", "", [&] { ours.run(team, stream::Strategy::stealing); }},
      {"auto", "", [&] { ours.run(team, stream::Strategy::auto_); }},
  };
  for (const int tokens : tokens_per_thread)
    contenders.push_back({"oneTBB", fmt::format("{} tokens", tokens * threads),
                          [&, tokens] { run_tbb(workload, items, arena, tokens * threads); }});
#ifdef MILLRACE_COMPARES_TASKFLOW
  tf::Executor executor(static_cast<std::size_t>(threads));
  for (const int tokens : tokens_per_thread)
    contenders.push_back({"Taskflow", fmt::format("{} lines", tokens * threads),
                          [&, tokens] { run_taskflow(workload, items, executor, tokens * threads); }});
#endif
  const auto measured = stream::paired_rounds(contenders, rounds, static_cast<double>(items) * 1000, random);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto& [contender, values] = measured[i];
    fmt::print("{:<8} {:>7}  {:<9} {:>26} {:<10}", i == 0 ? workload.name : "",
               i == 0 ? std::to_string(threads) : "", contender->framework, stream::spread(values, 2),
               contender->setting);
    if (i >= 2)
      fmt::print(" stealing / it {:>22}, auto / it {:>22}",
                 stream::spread(stream::ratios(measured[0].values, values), 2),
                 stream::spread(stream::ratios(measured[1].values, values), 2));
    fmt::print("\n");
  }
  static_cast<void>(std::fflush(stdout));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = count_argument(argc, argv, 1, 11);
  const int batch_ms = count_argument(argc, argv, 2, 30);
  std::vector<const Workload*> chosen;
  for (const Workload& workload : workloads)
    if (argc <= 3) chosen.push_back(&workload);
  bool known = true;
  for (int i = 3; i < argc; ++i) {
    const auto* const found = std::ranges::find(workloads, std::string_view(argv[i]), &Workload::name);
    known = known && found != workloads.end();
    if (known) chosen.push_back(found);
  }
  if (rounds < 1 || batch_ms < 1 || !known) {
    fmt::print(stderr,
               "usage: workloads_compare [rounds] [milliseconds per batch] [workload...], whole numbers "
               "from 1, workloads of linear, skewed, bimodal, bursty, nested\n");
    return 2;
  }
#ifndef MILLRACE_COMPARES_TASKFLOW
  fmt::print("NOT compared with Taskflow: configure with -DMILLRACE_TASKFLOW=folder, the one that has "
             "taskflow/taskflow.hpp\n");
#endif
  auto pool = made(pool::WorkerPool::create(2));
  pool::PoolTeam team = pool->team();
  std::mt19937 random(1);
  fmt::print("{} rounds of about {} ms; median [quartiles], us an item\n\n", rounds, batch_ms);
  fmt::print("{:<8} {:>7}\n", "work", "threads");
  for (const Workload* workload : chosen)
    for (const int threads : {1, 2})
      compare(*workload, team.last(threads), rounds, batch_ms, random);
  return 0;
}
