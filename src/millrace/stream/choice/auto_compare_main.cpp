// Compares the strategy `auto` with every fixed setting on four synthetic pipelines.
//
//   auto_compare [rounds] [unbalanced | bursty | serial | fine]
//
// First, all fixed settings (strategies x threads x tokens) run in random order on part of the items. The
// three with the best medians, and `stealing` with 10 tokens per thread, then alternate with `auto`. Ratios
// are taken within a round, so that other load on the machine affects both. The runtime counts the maximum
// number of items in flight: every source item counts as one byte.
#include "millrace/base/error/clock.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace millrace;
using stream::Kind;
using stream::Strategy;

constexpr int search_rounds = 2;

// Steps of about a nanosecond, which the compiler cannot shorten.
void work(std::int64_t steps) {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < steps; ++i)
    asm volatile("" : "+r"(value = value * 6364136223846793005U + 1442695040888963407U));
}

// The same pseudo-random number in [0, 1) for the same item and stage in every run (SplitMix64).
double chance(std::uint64_t item, std::uint64_t stage) {
  std::uint64_t z = item * 8 + stage + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1.0p-53;
}

struct Item {
  std::uint64_t number = 0;
  std::uint64_t part = 0;
};

using Made = Result<stream::Stream>;

auto counted(std::uint64_t& next, std::uint64_t items, std::int64_t steps) {
  return stream::source("count",
                        [&next, items, steps]() -> std::optional<Item> {
                          if (next == items) return std::nullopt;
                          work(steps);
                          return Item{.number = next++};
                        },
                        {.bytes = [](const Item&) { return std::size_t{1}; }});
}

auto working(std::uint64_t stage, std::int64_t least, std::int64_t most) {
  return [=](Item item) {
    work(least + static_cast<std::int64_t>(static_cast<double>(most - least) * chance(item.number, stage)));
    return item;
  };
}

// Stages of very different cost: one in fifty items takes thirty times as long in the longest.
Made unbalanced(std::uint64_t& next, std::uint64_t items) {
  return counted(next, items, 1000)
      .stage(Kind::parallel, "small", working(1, 5000, 15'000))
      .stage(Kind::parallel, "large",
             [](Item item) {
               work(chance(item.number, 2) < 0.02 ? 3'000'000 : 100'000);
               return item;
             })
      .stage(Kind::parallel, "middle", working(3, 20'000, 60'000))
      .sink(Kind::serial_in_order, "write", [](Item) { work(2000); });
}

// Most items become no part or one part; one in twenty becomes sixty.
Made bursty(std::uint64_t& next, std::uint64_t items) {
  return counted(next, items, 2000)
      .stage<Item>(Kind::parallel, "split",
                   [](Item item, stream::Output<Item>& out) {
                     work(20'000);
                     const double drawn = chance(item.number, 1);
                     const std::uint64_t parts = drawn < 0.05 ? 60 : drawn < 0.6 ? 1 : 0;
                     for (std::uint64_t part = 0; part < parts; ++part)
                       out.emit(Item{.number = item.number, .part = part});
                   })
      .stage(Kind::parallel, "work", working(2, 20'000, 60'000))
      .sink(Kind::serial_in_order, "write", [](Item) { work(1000); });
}

// The in-order stage takes half as long as all others together.
Made serial_bound(std::uint64_t& next, std::uint64_t items) {
  return counted(next, items, 2000)
      .stage(Kind::parallel, "before", working(1, 50'000, 150'000))
      .stage(Kind::serial_in_order, "narrow", working(2, 100'000, 200'000))
      .stage(Kind::parallel, "after", working(3, 20'000, 80'000))
      .sink(Kind::serial_in_order, "write", [](Item) { work(2000); });
}

// The runtime needs as much time per item as the stages, and a hundred times that under some strategies.
Made fine(std::uint64_t& next, std::uint64_t items) {
  return counted(next, items, 20)
      .stage(Kind::parallel, "small", working(1, 50, 150))
      .sink(Kind::serial_in_order, "write", [](Item) { work(20); });
}

struct Setting {
  Strategy strategy = Strategy::auto_;
  int threads = 0;
  int tokens = 0;
  friend auto operator<=>(const Setting&, const Setting&) = default;
};

std::string name_of(const Setting& setting) {
  if (setting.strategy == Strategy::auto_) return "auto";
  return fmt::format("{}, {} thread{}, {} tokens", stream::strategy_name(setting.strategy), setting.threads,
                     setting.threads == 1 ? "" : "s", setting.tokens);
}

std::vector<Setting> fixed_settings(int most_threads) {
  std::vector<Setting> all;
  for (const Strategy strategy :
       {Strategy::pools, Strategy::oversubscribed, Strategy::collapsed, Strategy::stealing, Strategy::tbb})
    for (int threads = 1; threads <= most_threads; threads *= 2)
      for (const int tokens : {1, 2, 4, 8, 16, 32, 64})
        all.push_back({strategy, threads, tokens});
  return all;
}

struct Outcome {
  double seconds = 0;
  stream::RunReport report;
};

[[noreturn]] void stop(const Error& error) {
  fmt::print(stderr, "auto_compare: {}\n", error.message);
  std::exit(exit_code(error));
}

using Make = Made (*)(std::uint64_t& next, std::uint64_t items);
struct Case {
  std::string_view name;
  std::uint64_t items;
  std::uint64_t search_part;  // the search uses one in this many items
  Make make;
};
constexpr std::array cases{
    Case{"unbalanced", 12'000, 4, unbalanced},
    Case{"bursty", 12'000, 4, bursty},
    Case{"serial", 8'000, 4, serial_bound},
    Case{"fine", 4'000'000, 200, fine},
};

Outcome run(Make make, std::uint64_t items, pool::Team& team, const Setting& setting) {
  std::uint64_t next = 0;
  Made made = make(next, items);
  if (!made) stop(made.error());
  stream::RunOptions options;
  options.strategy = setting.strategy;
  options.threads = setting.threads;
  options.tokens = setting.tokens;
  const std::int64_t start = now_ns();
  stream::Finished finished = made->run(team, options);
  if (!finished.status) stop(finished.status.error());
  return {seconds(now_ns() - start), std::move(finished.report)};
}

using Outcomes = std::map<Setting, std::vector<Outcome>>;

// Runs rounds of all settings, in random order in each round.
Outcomes run_rounds(const Case& one, std::uint64_t items, pool::PoolTeam team, std::vector<Setting> settings,
                    int rounds, std::mt19937& random) {
  Outcomes outcomes;
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(settings, random);
    for (const Setting& setting : settings)
      outcomes[setting].push_back(run(one.make, items, team, setting));
  }
  return outcomes;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

template <class Field> double median_of(const std::vector<Outcome>& outcomes, const Field& field) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes)
    values.push_back(field(outcome));
  return quantile(values, 0.5);
}
double median_seconds(const std::vector<Outcome>& outcomes) {
  return median_of(outcomes, [](const Outcome& outcome) { return outcome.seconds; });
}

void compare(const Case& one, const pool::PoolTeam& team, int rounds, std::mt19937& random) {
  const int threads = team.size();
  const auto found =
      run_rounds(one, one.items / one.search_part, team, fixed_settings(threads), search_rounds, random);
  std::vector<Setting> contenders;
  for (const auto& [setting, outcomes] : found)
    contenders.push_back(setting);
  std::ranges::sort(contenders, {},
                    [&](const Setting& setting) { return median_seconds(found.at(setting)); });
  contenders.resize(3);
  const Setting chosen{};
  const Setting roomy{Strategy::stealing, threads, 10 * threads};
  contenders.push_back(chosen);
  contenders.push_back(roomy);
  const auto outcomes = run_rounds(one, one.items, team, contenders, rounds, random);
  fmt::print("\n{}: {} fixed settings, {} rounds\n{:<36} {:>9}   {:<28} {:>15}\n", one.name, found.size(),
             rounds, "setting", "seconds", "auto reaches of its speed", "items in flight");
  std::ranges::sort(contenders, {},
                    [&](const Setting& setting) { return median_seconds(outcomes.at(setting)); });
  for (const Setting& setting : contenders) {
    const auto& runs = outcomes.at(setting);
    std::vector<double> ratios;
    for (std::size_t round = 0; round < runs.size(); ++round)
      ratios.push_back(100 * runs[round].seconds / outcomes.at(chosen)[round].seconds);
    const double peak = median_of(
        runs, [](const Outcome& outcome) { return static_cast<double>(outcome.report.peak_bytes); });
    fmt::print("{:<36} {:>9.3f}   {:<28} {:>15.0f}\n", name_of(setting), median_seconds(runs),
               fmt::format("{:.1f} % [{:.1f} .. {:.1f}]", quantile(ratios, 0.5), quantile(ratios, 0.25),
                           quantile(ratios, 0.75)),
               peak);
  }
  const stream::RunReport& last = outcomes.at(chosen).back().report;
  fmt::print("auto's last run: {}\n", last.strategy_reason);
  for (const stream::PlanDecision& decision : last.decisions)
    fmt::print("  after {:.2f} s {} {}: {:.1f} us an item, against {:.1f}\n", decision.at_s,
               stream::to_string(decision.kind), decision.plan, 1e6 * decision.item_s,
               1e6 * decision.against_s);
  static_cast<void>(std::fflush(stdout));
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 9;
  bool understood = argc <= 3;
  if (argc >= 2) {
    rounds = parse_number<int>(argv[1]).value_or(0);
    understood = understood && rounds > 0;
  }
  if (argc == 3) understood = understood && std::ranges::find(cases, argv[2], &Case::name) != cases.end();
  if (!understood) {
    fmt::print(
        stderr,
        "usage: auto_compare [rounds] [unbalanced | bursty | serial | fine], rounds a whole number from 1\n");
    return 2;
  }
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto pool = pool::WorkerPool::create(threads);
  if (!pool) stop(pool.error());
  std::mt19937 random(1);
  for (const Case& one : cases)
    if (argc < 3 || one.name == argv[2]) compare(one, (*pool)->team(), rounds, random);
  return 0;
}
