// Prints the cost of a stream per item when its stages do nothing. Compares the strategy `stealing` with
// oneTBB's parallel_pipeline and, if configured with its headers (-DMILLRACE_TASKFLOW=folder), with
// Taskflow's, in pairs within one process. Then prints the cost of large items, the time until long items
// after short ones are shared, and the costs of an idle stream and of the trace.
//
//   stream_compare [rounds] [items per batch]
//
// Each round runs one batch of every contender in random order. Before a batch the program sleeps until its
// other threads are quiet. oneTBB runs with 1, 2, 4 and 10 tokens (Taskflow: lines) per thread and is judged
// by the number with the best median; `stealing` uses its default. Ratios are taken within a round, so that
// other load on the machine affects both. Below 1, `stealing` is faster.
#include "millrace/base/error/clock.h"
#include "millrace/base/text/count_argument.h"
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
#include <ctime>
#include <functional>
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
using stream::cpu_seconds;
using stream::Kind;
using stream::spread;
using stream::wait_until_quiescent;

using Item = std::uint64_t;

// A source and the stages of the shape. The last one is the sink.
struct Shape {
  std::string name;
  std::vector<Kind> stages;
  std::int64_t steps = 0;  // of work in each call except the sink's
};

std::vector<Shape> shapes() {
  constexpr Kind parallel = Kind::parallel;
  constexpr Kind in_order = Kind::serial_in_order;
  constexpr Kind as_they_come = Kind::serial_as_they_come;
  std::vector<Shape> result;
  for (const std::size_t count : {1U, 4U, 16U}) {
    result.push_back({fmt::format("{} parallel", count), std::vector(count, parallel)});
    result.push_back({fmt::format("{} in order", count), std::vector(count, in_order)});
    result.push_back({fmt::format("{} as they come", count), std::vector(count, as_they_come)});
    if (count == 1) continue;
    // The typical program: parallel work, written in order.
    std::vector<Kind> ordered_tail(count, parallel);
    ordered_tail.back() = in_order;
    result.push_back({fmt::format("{} parallel + 1 in order", count - 1), ordered_tail});
    std::vector<Kind> alternating(count, parallel);
    for (std::size_t i = 1; i < count; i += 2)
      alternating[i] = in_order;
    result.push_back({fmt::format("{} alternating", count), alternating});
  }
  return result;
}

// About a nanosecond per step, which the compiler cannot shorten.
void work(std::int64_t steps) {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < steps; ++i)
    asm volatile("" : "+r"(value = value * 6364136223846793005U + 1442695040888963407U));
}

stream::Stream our_stream(const Shape& shape, const Item& items, Item& next) {
  auto flow = stream::source("source", [&]() -> std::optional<Item> {
    return next < items ? std::optional<Item>(next++) : std::nullopt;
  });
  for (std::size_t i = 0; i + 1 < shape.stages.size(); ++i) {
    auto name = fmt::format("stage {}", i);
    flow = std::move(flow).stage(shape.stages[i], name, [steps = shape.steps](Item item) {
      work(steps);
      return item + 1;
    });
  }
  auto made = std::move(flow).sink(shape.stages.back(), "sink", [](Item) {});
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    std::exit(1);
  }
  return std::move(*made);
}

void run_ours(stream::Stream& stream, pool::Team& team, const stream::RunOptions& options) {
  const stream::Finished finished = stream.run(team, options);
  if (finished.status) return;
  fmt::print(stderr, "{}\n", finished.status.error().message);
  std::exit(1);
}

tbb::filter_mode mode_of(Kind kind) {
  switch (kind) {
  case Kind::serial_in_order:
    return tbb::filter_mode::serial_in_order;
  case Kind::serial_as_they_come:
    return tbb::filter_mode::serial_out_of_order;
  case Kind::parallel:
    break;
  }
  return tbb::filter_mode::parallel;
}

void run_tbb(const Shape& shape, Item items, int threads, int tokens) {
  Item next = 0;
  tbb::filter<void, Item> chain = tbb::make_filter<void, Item>(tbb::filter_mode::serial_in_order,
                                                               [&](tbb::flow_control& control) -> Item {
                                                                 if (next == items) control.stop();
                                                                 return next++;
                                                               });
  for (std::size_t i = 0; i + 1 < shape.stages.size(); ++i)
    chain = chain & tbb::make_filter<Item, Item>(mode_of(shape.stages[i]), [steps = shape.steps](Item item) {
              work(steps);
              return item + 1;
            });
  const auto whole = chain & tbb::make_filter<Item, void>(mode_of(shape.stages.back()), [](Item) {});
  tbb::task_arena arena(threads);
  arena.execute([&] { tbb::parallel_pipeline(static_cast<std::size_t>(tokens), whole); });
}

#ifdef MILLRACE_COMPARES_TASKFLOW
void run_taskflow(const Shape& shape, Item items, tf::Executor& executor, int lines) {
  std::vector<bool> serial;
  for (const Kind kind : shape.stages)
    serial.push_back(kind != Kind::parallel);
  Item next = 0;
  const std::size_t sink = shape.stages.size() - 1;
  stream::TaskflowLine line(
      static_cast<std::size_t>(lines), serial,
      [&](Item& item) {
        item = next;
        return next++ < items;
      },
      [steps = shape.steps, sink](std::size_t stage, Item item) {
        if (stage != sink) work(steps);
        return item + 1;
      });
  line.run(executor);
}
#endif

constexpr std::array tokens_per_thread{1, 2, 4, 10};

void compare(const Shape& shape, pool::PoolTeam team, int rounds, Item items, std::mt19937& random) {
  const int threads = team.size();
  Item next = 0;
  stream::Stream stream = our_stream(shape, items, next);
  std::vector<Contender> contenders{{"stealing", "", [&] {
                                       next = 0;
                                       run_ours(stream, team, {.strategy = stream::Strategy::stealing});
                                     }}};
  for (const int tokens : tokens_per_thread)
    contenders.push_back({"oneTBB", fmt::format("{}", tokens), [&shape, items, threads, tokens] {
                            run_tbb(shape, items, threads, tokens * threads);
                          }});
#ifdef MILLRACE_COMPARES_TASKFLOW
  tf::Executor executor(static_cast<std::size_t>(threads));
  for (const int tokens : tokens_per_thread)
    contenders.push_back({"Taskflow", fmt::format("{}", tokens),
                          [&, tokens] { run_taskflow(shape, items, executor, tokens * threads); }});
#endif
  const auto measured = stream::paired_rounds(contenders, rounds, static_cast<double>(items), random);
  fmt::print("{:<24} {:>7} {:>24}", shape.name, threads, spread(measured[0].values, 0));
  for (std::size_t i = 1; i < measured.size(); ++i)
    fmt::print(" {:>24} {:>6} {:>22}", spread(measured[i].values, 0), measured[i].contender->setting,
               spread(stream::ratios(measured[0].values, measured[i].values), 2));
  fmt::print("\n");
  static_cast<void>(std::fflush(stdout));
}

// The cost of an item of a given size in each of four stages that hardly look at it: taken and returned by
// value, boxed on the heap, changed in place; and by value in oneTBB.
template <std::size_t bytes> struct Sized {
  std::array<std::uint64_t, bytes / sizeof(std::uint64_t)> words{};
};

template <std::size_t bytes>
void compare_sizes(pool::PoolTeam team, int rounds, Item items, std::mt19937& random) {
  using Sized = Sized<bytes>;
  using Box = std::unique_ptr<Sized>;
  Item next = 0;
  const auto numbered = [&next](std::size_t place) {
    Sized item;
    item.words[place % item.words.size()] = next++;
    return item;
  };
  const auto run = [&](auto source, auto stage, auto sink) {
    next = 0;
    auto flow = stream::source("source", source);
    auto made = std::move(flow)
                    .stage(Kind::parallel, "a", stage)
                    .stage(Kind::parallel, "b", stage)
                    .stage(Kind::parallel, "c", stage)
                    .sink(Kind::serial_in_order, "sink", sink);
    if (!made) std::exit(1);
    run_ours(*made, team, {.strategy = stream::Strategy::stealing});
  };
  const std::vector<Contender> contenders{
      {"by value", "",
       [&] {
         run(
             [&]() -> std::optional<Sized> {
               return next < items ? std::optional(numbered(0)) : std::nullopt;
             },
             [](Sized item) {
               ++item.words[0];
               return item;
             },
             [](const Sized&) {});
       }},
      {"in a box", "",
       [&] {
         run(
             [&]() -> std::optional<Box> {
               return next < items ? std::optional(std::make_unique<Sized>(numbered(0))) : std::nullopt;
             },
             [](Box item) {
               ++item->words[0];
               return item;
             },
             [](const Box&) {});
       }},
      {"in place", "",
       [&] {
         run(
             [&]() -> std::optional<Sized> {
               return next < items ? std::optional(numbered(0)) : std::nullopt;
             },
             [](Sized& item) { ++item.words[0]; }, [](const Sized&) {});
       }},
      {"oneTBB by value", "",
       [&] {
         next = 0;
         const auto stage = tbb::make_filter<Sized, Sized>(tbb::filter_mode::parallel, [](Sized item) {
           ++item.words[0];
           return item;
         });
         tbb::task_arena arena(team.size());
         arena.execute([&] {
           tbb::parallel_pipeline(
               4 * static_cast<std::size_t>(team.size()),
               tbb::make_filter<void, Sized>(tbb::filter_mode::serial_in_order,
                                             [&](tbb::flow_control& control) {
                                               if (next == items) control.stop();
                                               return numbered(0);
                                             }) &
                   stage & stage & stage &  // NOLINT(misc-redundant-expression): one after the other
                   tbb::make_filter<Sized, void>(tbb::filter_mode::serial_in_order, [](const Sized&) {}));
         });
       }},
  };
  const auto measured = stream::paired_rounds(contenders, rounds, static_cast<double>(items), random);
  fmt::print("{:>6} bytes {:>2} threads:", bytes, team.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    fmt::print(" {} {}", measured[i].contender->framework, spread(measured[i].values, 0));
    if (i != 0) fmt::print(" ({}x)", spread(stream::ratios(measured[0].values, measured[i].values), 2));
    fmt::print("{}", i + 1 < measured.size() ? ";" : "\n");
  }
  static_cast<void>(std::fflush(stdout));
}

// Short items, for which a worker keeps the source, and then long ones that all workers should share. The
// long ones sleep, so there may be more threads than processors.
struct Bimodal {
  int cycles = 1;
  int short_items = 0;  // in each cycle
  int long_items = 0;
  std::chrono::milliseconds length{};
};

double bimodal_seconds(const Bimodal& shape, pool::PoolTeam team, stream::Strategy strategy) {
  const int cycle = shape.short_items + shape.long_items;
  int next = 0;
  auto stream = stream::source("count",
                               [&]() -> std::optional<int> {
                                 return next < shape.cycles * cycle ? std::optional(next++) : std::nullopt;
                               })
                    .stage(Kind::parallel, "work",
                           [&](int item) {
                             if (item % cycle >= shape.short_items) std::this_thread::sleep_for(shape.length);
                             return item;
                           })
                    .sink(Kind::serial_in_order, "sink", [](int) {});
  if (!stream) std::exit(1);
  wait_until_quiescent();
  const std::int64_t start = now_ns();
  run_ours(*stream, team, {.strategy = strategy});
  return seconds(now_ns() - start);
}

void compare_bimodal(const pool::PoolTeam& team, int rounds) {
  using std::chrono_literals::operator""ms;
  fmt::print("\nshort items, then long ones that sleep, on {} threads; seconds, and ratios to tbb\n\n",
             team.size());
  for (const Bimodal& shape : {Bimodal{1, 20'000, 60, 100ms}, Bimodal{20, 2000, 32, 5ms}}) {
    std::vector<double> ours;
    std::vector<double> chosen;
    std::vector<double> theirs;
    std::vector<double> ours_to_theirs;
    std::vector<double> chosen_to_theirs;
    for (int round = 0; round < rounds; ++round) {
      ours.push_back(bimodal_seconds(shape, team, stream::Strategy::stealing));
      chosen.push_back(bimodal_seconds(shape, team, stream::Strategy::auto_));
      theirs.push_back(bimodal_seconds(shape, team, stream::Strategy::tbb));
      ours_to_theirs.push_back(ours.back() / theirs.back());
      chosen_to_theirs.push_back(chosen.back() / theirs.back());
    }
    fmt::print(
        "{:>2} x {} short, {} of {} ms: stealing {}, auto {}, tbb {}; stealing / tbb {}, auto / tbb {}\n",
        shape.cycles, shape.short_items, shape.long_items, shape.length.count(), spread(ours, 2),
        spread(chosen, 2), spread(theirs, 2), spread(ours_to_theirs, 2), spread(chosen_to_theirs, 2));
    static_cast<void>(std::fflush(stdout));
  }
}

// CPU time as a percentage of wall time, for a stream whose source waits most of two seconds.
double idle_cost(pool::PoolTeam team, bool blocking) {
  constexpr int waits = 20;
  int next = 0;
  auto stream = stream::source("wait",
                               [&]() -> std::optional<int> {
                                 std::this_thread::sleep_for(std::chrono::milliseconds(100));
                                 return next < waits ? std::optional(next++) : std::nullopt;
                               },
                               {.blocking = blocking})
                    .stage(Kind::parallel, "pass", [](int item) { return item; })
                    .sink(Kind::serial_in_order, "sink", [](int) {});
  if (!stream) std::exit(1);
  wait_until_quiescent();
  const double before = cpu_seconds();
  const std::int64_t start = now_ns();
  run_ours(*stream, team, {.strategy = stream::Strategy::stealing});
  return 100 * (cpu_seconds() - before) / seconds(now_ns() - start);
}

// CPU time with the trace over CPU time without, in pairs, if each call of a parallel stage takes about
// `work_ns`. CPU time varies less than wall time on a shared machine.
std::vector<double> trace_cost(pool::PoolTeam team, std::int64_t work_ns, int rounds) {
  const Shape shape{
      "traced", {Kind::parallel, Kind::parallel, Kind::parallel, Kind::serial_in_order}, work_ns};
  // About 30 ms per batch and worker.
  const auto items = static_cast<Item>(10'000'000 * team.size() / std::max<std::int64_t>(work_ns, 100));
  Item next = 0;
  stream::Stream stream = our_stream(shape, items, next);
  const auto batch = [&](stream::Trace trace) {
    wait_until_quiescent();
    const double before = cpu_seconds();
    next = 0;
    run_ours(stream, team, {.strategy = stream::Strategy::stealing, .trace = trace});
    return cpu_seconds() - before;
  };
  std::vector<double> costs;
  for (int round = 0; round < 2 * rounds; ++round) {
    const bool traced_first = round % 2 == 0;
    const double first = batch(traced_first ? stream::Trace::summary : stream::Trace::off);
    const double second = batch(traced_first ? stream::Trace::off : stream::Trace::summary);
    costs.push_back(traced_first ? first / second : second / first);
  }
  return costs;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = count_argument(argc, argv, 1, 15);
  const int items = count_argument(argc, argv, 2, 20'000);
  if (rounds < 1 || items < 1) {
    fmt::print(stderr, "usage: stream_compare [rounds] [items per batch], both whole numbers from 1\n");
    return 2;
  }
  auto made = pool::WorkerPool::create(2);
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    return 1;
  }
  pool::PoolTeam team = (*made)->team();
  std::mt19937 random(1);
  fmt::print("empty stages, {} rounds of {} items; median [quartiles], ns an item\n\n", rounds, items);
  fmt::print("{:<24} {:>7} {:>24} {:>24} {:>6} {:>22}", "stages", "threads", "stealing", "parallel_pipeline",
             "tokens", "ratio");
#ifdef MILLRACE_COMPARES_TASKFLOW
  fmt::print(" {:>24} {:>6} {:>22}", "Taskflow", "lines", "ratio");
#endif
  fmt::print("\n");
  for (const Shape& shape : shapes())
    for (const int threads : {1, 2})
      compare(shape, team.last(threads), rounds, static_cast<Item>(items), random);

  fmt::print("\nstages of a few steps of a nanosecond or so each\n\n");
  for (const std::int64_t steps : {100, 1000, 10'000}) {
    Shape shape{fmt::format("3 of {} + 1 in order", steps), std::vector(4, Kind::parallel), steps};
    shape.stages.back() = Kind::serial_in_order;
    for (const int threads : {1, 2})
      compare(shape, team.last(threads), rounds,
              static_cast<Item>(std::max<std::int64_t>(items * 10 / steps, 100)), random);
  }

  fmt::print(
      "\nitems of several sizes through 3 parallel stages and one in order, ns an item; in brackets how many "
      "times as long by value takes\n\n");
  for (const int threads : {1, 2}) {
    compare_sizes<16>(team.last(threads), rounds, static_cast<Item>(items), random);
    compare_sizes<256>(team.last(threads), rounds, static_cast<Item>(items), random);
    compare_sizes<4096>(team.last(threads), rounds, static_cast<Item>(items) / 4, random);
  }

  auto many = pool::WorkerPool::create(8);
  if (!many) {
    fmt::print(stderr, "{}\n", many.error().message);
    return 1;
  }
  compare_bimodal((*many)->team(), std::min(rounds, 5));
  many->reset();

  fmt::print("\nidle: a stream whose source waits uses {:.3f} % of a CPU, {:.3f} % if the source is declared "
             "blocking\n",
             idle_cost(team, false), idle_cost(team, true));
  for (const int threads : {1, 2})
    for (const std::int64_t work_ns : {200, 1000, 10'000, 100'000})
      fmt::print("trace: calls of {} ns on {} threads take {} times the CPU time\n", work_ns, threads,
                 spread(trace_cost(team.last(threads), work_ns, rounds), 3));
  return 0;
}
