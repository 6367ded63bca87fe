// The decisions of `auto` on simulated streams.
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/pipeline/recorded_calls.h"
#include "millrace/model/simulation/simulation.h"
#include "millrace/stream/choice/auto_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

using Kind = stream::Kind;
using Decided = PlanDecision::Kind;

// A source, a parallel stage and an ordered sink with these mean service times. A share `long_share` of the
// calls takes all of the time.
RunReport report_of(std::uint64_t items, double wall_s, const std::vector<double>& services,
                    double long_share) {
  RunReport report{.byte_budget = 1, .wall_s = wall_s};
  const char* kinds[] = {"source", "parallel", "serial in order"};
  for (std::size_t i = 0; i < services.size(); ++i) {
    StageReport stage{.name = kinds[i], .kind = kinds[i], .items_in = items, .items_out = items};
    const auto longer = static_cast<std::uint64_t>(std::ceil(long_share * static_cast<double>(items)));
    stage.service_s.record(services[i] * static_cast<double>(items) / static_cast<double>(longer), longer);
    if (items > longer) stage.service_s.record(1e-9, items - longer);
    stage.busy_s = stage.service_s.sum();
    report.stages.push_back(std::move(stage));
  }
  return report;
}

struct SimulatedStream {
  std::vector<double> services{1e-6, 100e-6, 1e-6};
  std::function<double(const AutoPlan&, double at_s)> item_seconds;
  double noise = 0;
  double long_share = 1;
  double phase_s = 0;  // overhead of starting and ending a phase
  std::function<bool(const AutoPlan&)> refuses;
  std::map<Strategy, std::uint64_t> done;  // items

  std::vector<PlanDecision> run(AutoChoice& choice, double seconds, std::vector<AutoPlan>* used = nullptr) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    double at_s = 0;
    while (at_s < seconds) {
      const AutoChoice::Phase phase = choice.next();
      if (used) used->push_back(phase.plan);
      if (refuses && refuses(phase.plan)) {
        if (!choice.tell_refused(Error{ErrorKind::failure, "no thread"}, at_s)) break;
        continue;
      }
      const double item_s = item_seconds(phase.plan, at_s) * std::exp(noise * normal(random));
      const double in_time = std::max(1.0, phase.seconds / item_s);
      const std::uint64_t items =
          in_time < static_cast<double>(phase.items) ? static_cast<std::uint64_t>(in_time) : phase.items;
      const double wall = static_cast<double>(items) * item_s + phase_s;
      at_s += wall;
      done[phase.plan.strategy] += items;
      choice.tell(report_of(items, wall, services, long_share), at_s);
    }
    return choice.decisions();
  }
};

std::vector<Decided> kinds_of(const std::vector<PlanDecision>& decisions) {
  std::vector<Decided> kinds;
  std::ranges::transform(decisions, std::back_inserter(kinds), &PlanDecision::kind);
  return kinds;
}

TEST(AutoChoice, stays_with_stealing_on_all_threads_where_that_is_as_fast_as_the_model_says) {
  AutoChoice choice({.threads = 4});
  SimulatedStream stream{.item_seconds = [](const AutoPlan& plan, double) { return 102e-6 / plan.threads; }};
  EXPECT_THAT(kinds_of(stream.run(choice, 20)), testing::ElementsAre(Decided::started));
  EXPECT_EQ(choice.next().plan, (AutoPlan{Strategy::stealing, 4, 16}));
}

TEST(AutoChoice, tries_nothing_where_it_falls_short_of_the_model_by_what_any_plan_might) {
  AutoChoice choice({.threads = 4});
  SimulatedStream stream{.item_seconds = [](const AutoPlan& plan, double) { return 112e-6 / plan.threads; }};
  EXPECT_THAT(kinds_of(stream.run(choice, 20)), testing::ElementsAre(Decided::started));
}

TEST(AutoChoice, takes_more_tokens_where_items_that_differ_much_wait_for_their_turn) {
  AutoChoice choice({.threads = 4});
  SimulatedStream stream{.item_seconds = [](const AutoPlan& plan, double) {
    return (plan.tokens < 32 ? 150e-6 : 102e-6) / plan.threads;
  }};
  stream.long_share = 0.02;
  stream.run(choice, 20);
  EXPECT_GE(choice.next().plan.tokens, 32);
  EXPECT_EQ(choice.next().plan.threads, 4);
}

TEST(AutoChoice, holds_half_of_10_items_a_thread_where_that_suffices) {
  for (const int threads : {1, 2, 4, 16}) {
    AutoChoice choice({.threads = threads});
    std::vector<AutoPlan> used;
    SimulatedStream stream{
        .item_seconds = [](const AutoPlan& plan, double) { return 102e-6 / plan.threads; }};
    stream.run(choice, 20, &used);
    // Except at the beginning, whose maximum length is tested below.
    const auto settled =
        std::ranges::find_if(used, [&](const AutoPlan& plan) { return plan.tokens <= 5 * threads; });
    used.erase(used.begin(), settled);
    ASSERT_FALSE(used.empty());
    EXPECT_LE(std::ranges::max(used, {}, &AutoPlan::tokens).tokens, 5 * threads);
  }
}

TEST(AutoChoice, tries_no_other_tokens_where_the_model_sees_no_gain_though_the_machine_becomes_slower) {
  AutoChoice choice({.threads = 4});
  std::vector<AutoPlan> used_later;
  SimulatedStream stream;
  stream.long_share = 0.02;
  // Then the items vary less, so fewer tokens would suffice, but they would be no gain.
  stream.item_seconds = [&](const AutoPlan& plan, double at_s) {
    if (at_s > 10) stream.long_share = 0.1;
    if (at_s > 12) used_later.push_back(plan);
    return (plan.tokens < 32 ? 150e-6 : at_s < 10 ? 102e-6 : 118e-6) / plan.threads;
  };
  stream.run(choice, 60);
  ASSERT_GE(choice.next().plan.tokens, 32);
  EXPECT_THAT(used_later, testing::Each(choice.next().plan));
}

// The situation of a batch of 20 ms: there is no time to discover that items come in bursts.
TEST(AutoChoice, begins_with_as_many_tokens_as_stealing_until_something_was_measured) {
  AutoChoice choice({.threads = 2});
  double at_s = 0;
  while (at_s < 0.02) {
    const AutoChoice::Phase phase = choice.next();
    EXPECT_EQ(phase.plan, (AutoPlan{Strategy::stealing, 2, default_tokens(Strategy::stealing, 2, 4, 20)}));
    EXPECT_LT(phase.seconds, 0.1);
    const double wall = std::min(static_cast<double>(phase.items) * 10e-6, 0.019);
    at_s += wall;
    choice.tell(report_of(phase.items, wall, {1e-6, 10e-6, 1e-6}, 1), at_s);
  }
  AutoChoice fixed({.threads = 2, .tokens = 6});
  EXPECT_EQ(fixed.next().plan.tokens, 6);
}

// More tokens need more memory. A long stream has them only for the length of one informative phase.
TEST(AutoChoice, holds_the_tokens_of_stealing_for_a_tenth_of_a_second_or_one_item_at_most) {
  for (const int threads : {1, 2, 4, 16}) {
    for (const double item_s : {100e-9, 1e-6, 100e-6, 10e-3, 1.0}) {
      AutoChoice choice({.threads = threads});
      double at_s = 0;
      while (choice.next().plan.tokens > 5 * threads) {
        const AutoChoice::Phase phase = choice.next();
        const double items = std::min(static_cast<double>(phase.items), std::ceil(phase.seconds / item_s));
        at_s += items * item_s;
        choice.tell(report_of(static_cast<std::uint64_t>(items), items * item_s, {1e-9, item_s, 1e-9}, 1),
                    at_s);
        ASSERT_LE(at_s, 0.1 + item_s) << threads << ' ' << item_s;
      }
      EXPECT_EQ(choice.next().plan.tokens, 4 * threads);
    }
  }
}

TEST(AutoChoice, ends_few_phases_however_long_the_stream) {
  AutoChoice choice({.threads = 2});
  std::vector<AutoPlan> used;
  SimulatedStream stream{.services = {1e-3, 100e-3, 1e-3},
                         .item_seconds = [](const AutoPlan& plan, double) { return 102e-3 / plan.threads; }};
  stream.run(choice, 60, &used);
  // One phase of 50 ms with the tokens of stealing, one of 64 items. After that each lasts as long as all
  // before, up to 10 s.
  EXPECT_LE(used.size(), 9U);
}

// At the end of a phase threads wait for its last item, which would dominate a phase of few items.
TEST(AutoChoice, goes_on_from_the_tokens_of_stealing_with_a_phase_of_many_items_however_long_they_take) {
  for (const double item_s : {1e-3, 10e-3, 100e-3, 1.0}) {
    AutoChoice choice({.threads = 2});
    double at_s = 0;
    while (choice.next().plan.tokens > 8) {
      const double items = std::ceil(choice.next().seconds / item_s);
      at_s += items * item_s;
      choice.tell(report_of(static_cast<std::uint64_t>(items), items * item_s, {1e-3, item_s, 1e-3}, 1),
                  at_s);
    }
    EXPECT_GE(choice.next().items, 64U) << item_s;
  }
}

TEST(AutoChoice, adopts_fewer_threads_where_the_items_are_too_small_to_share) {
  AutoChoice choice({.threads = 2});
  SimulatedStream stream{.services = {0.2e-6, 0.3e-6, 0.2e-6},
                         .item_seconds = [](const AutoPlan& plan, double) {
                           return plan.strategy == Strategy::stealing && plan.threads == 1 ? 0.9e-6 : 2.5e-6;
                         }};
  const auto decisions = stream.run(choice, 5);
  EXPECT_EQ(choice.next().plan.threads, 1);
  EXPECT_EQ(choice.next().plan.strategy, Strategy::stealing);
  const auto adopted = std::ranges::find(decisions, Decided::adopted, &PlanDecision::kind);
  ASSERT_NE(adopted, decisions.end());
  EXPECT_LT(adopted->at_s, 2);
  EXPECT_NEAR(adopted->item_s, 0.9e-6, 1e-9);
  EXPECT_NEAR(adopted->against_s, 2.5e-6, 1e-9);
}

TEST(AutoChoice, adopts_collapsing_where_the_measurement_shows_the_gain) {
  AutoChoice choice({.threads = 2});
  // Stealing reaches half the predicted speed, collapsed all of it.
  SimulatedStream stream{.item_seconds = [](const AutoPlan& plan, double) {
    return plan.strategy == Strategy::collapsed ? 52e-6 : 2 * 102e-6 / plan.threads;
  }};
  stream.run(choice, 5);
  EXPECT_EQ(choice.next().plan.strategy, Strategy::collapsed);
}

// Trials of `collapsed` take at most about 0.05 s in all, whatever the overhead per item.
TEST(AutoChoice, tries_a_plan_that_is_slower_by_any_factor_with_few_items) {
  for (const double slower : {3.0, 10.0, 30.0, 100.0, 1000.0}) {
    AutoChoice choice({.threads = 2});
    SimulatedStream stream{.services = {20e-9, 40e-9, 20e-9},
                           .item_seconds = [&](const AutoPlan& plan, double) {
                             return plan.strategy == Strategy::collapsed ? slower * 100e-9 : 100e-9;
                           }};
    stream.phase_s = 200e-6;
    const auto decisions = stream.run(choice, 5);
    EXPECT_THAT(kinds_of(decisions), testing::Contains(Decided::rejected)) << slower;
    EXPECT_GE(stream.done[Strategy::collapsed], 1U) << slower;
    EXPECT_LE(static_cast<double>(stream.done[Strategy::collapsed]) * slower * 100e-9, 0.06) << slower;
    EXPECT_GE(static_cast<double>(stream.done[Strategy::stealing]) * 100e-9, 0.95 * 5) << slower;
  }
}

// A phase of a millisecond takes relatively long to start. The plan must not be blamed for that.
TEST(AutoChoice, adopts_a_plan_for_small_items_though_its_first_phase_takes_long_to_begin) {
  AutoChoice choice({.threads = 2});
  SimulatedStream stream{.services = {20e-9, 40e-9, 20e-9}, .item_seconds = [](const AutoPlan& plan, double) {
                           return plan.strategy == Strategy::collapsed ? 50e-9 : 100e-9;
                         }};
  stream.phase_s = 500e-6;
  stream.run(choice, 5);
  EXPECT_EQ(choice.next().plan.strategy, Strategy::collapsed);
}

TEST(AutoChoice, goes_on_with_the_plan_in_use_where_another_cannot_be_run_and_does_not_ask_again) {
  AutoChoice choice({.threads = 2});
  SimulatedStream stream{
      .item_seconds = [](const AutoPlan&, double) { return 150e-6; },
      .refuses = [](const AutoPlan& plan) { return plan.strategy == Strategy::collapsed; }};
  std::vector<AutoPlan> used;
  const auto decisions = stream.run(choice, 120, &used);
  EXPECT_EQ(std::ranges::count(used, Strategy::collapsed, &AutoPlan::strategy), 1);
  EXPECT_EQ(choice.next().plan, (AutoPlan{Strategy::stealing, 2, 8}));
  const auto refused = std::ranges::find(decisions, 0, &PlanDecision::item_s);
  ASSERT_NE(refused, decisions.end());
  EXPECT_EQ(refused->kind, Decided::rejected);
  EXPECT_THAT(choice.reason(),
              testing::HasSubstr("1 other plan that promised more could not be run: no thread"));
}

TEST(AutoChoice, has_nothing_to_go_on_with_where_the_plan_in_use_cannot_be_run) {
  AutoChoice choice({.threads = 2});
  EXPECT_FALSE(choice.tell_refused(Error{ErrorKind::failure, "no thread"}, 0));
}

TEST(AutoChoice, rejects_what_only_the_model_prefers_and_seldom_asks_again) {
  AutoChoice choice({.threads = 2});
  SimulatedStream stream{.item_seconds = [](const AutoPlan&, double) { return 150e-6; }, .noise = 0.02};
  const auto decisions = stream.run(choice, 120);
  EXPECT_EQ(choice.next().plan, (AutoPlan{Strategy::stealing, 2, 8}));
  EXPECT_EQ(std::ranges::count(decisions, Decided::adopted, &PlanDecision::kind), 0);
  EXPECT_LE(std::ranges::count(decisions, Decided::rejected, &PlanDecision::kind), 8);
}

TEST(AutoChoice, notices_that_the_work_has_changed_and_follows) {
  AutoChoice choice({.threads = 2});
  SimulatedStream stream{.item_seconds = [](const AutoPlan& plan, double at_s) {
    if (at_s < 30) return 102e-6 / plan.threads;
    return plan.threads == 1 ? 110e-6 : 200e-6;  // as if another program occupied a core
  }};
  const auto decisions = stream.run(choice, 90);
  EXPECT_THAT(kinds_of(decisions), testing::Contains(Decided::changed));
  EXPECT_EQ(choice.next().plan.threads, 1);
}

class AutoChoiceOfRandomStreams : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(seeds, AutoChoiceOfRandomStreams, testing::Range(0U, 40U));

TEST_P(AutoChoiceOfRandomStreams, keeps_its_limits_and_ends_with_what_was_measured_best) {
  MILLRACE_RELEASE_ONLY();
  std::mt19937 random(GetParam());
  const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  const AutoLimits limits{.threads = up_to(12), .tokens = random() % 2 == 0 ? 0 : up_to(50)};
  std::map<std::pair<Strategy, int>, double> speed;
  SimulatedStream stream{.item_seconds =
                             [&](const AutoPlan& plan, double) {
                               auto& time = speed[{plan.strategy, plan.threads}];
                               if (time == 0) time = 20e-6 + 1e-6 * static_cast<double>(random() % 400);
                               return time;
                             },
                         .noise = 0.005};
  AutoChoice choice(limits);
  std::vector<AutoPlan> used;
  stream.run(choice, 60, &used);
  for (const AutoPlan& plan : used) {
    EXPECT_GE(plan.threads, 1);
    EXPECT_LE(plan.threads, limits.threads);
    EXPECT_GE(plan.tokens, 1);
    if (limits.tokens != 0) {
      EXPECT_EQ(plan.tokens, limits.tokens);
    }
  }
  double best = 1;
  for (const auto& [plan, time] : speed)
    best = std::min(best, time);
  const AutoPlan last = used.back();
  EXPECT_LE((speed[{last.strategy, last.threads}]), best * 1.1);
}

// Streams whose items are all known to the simulation.
struct KnownItems {
  const char* name;
  model::Pipeline (*make)(std::mt19937& random);
};
constexpr int known_items = 12'000;

using model::StageCalls;
using model::StageKind;

// A pipeline of these stages whose items come from `draw`: the calls of each stage.
model::Pipeline recorded_pipeline(const std::vector<StageKind>& kinds,
                                  const std::function<std::vector<StageCalls>()>& draw) {
  model::Pipeline pipeline;
  model::RecordedCalls calls;
  for (const StageKind kind : kinds)
    pipeline.stages.push_back({.name = "stage", .kind = kind, .service = model::ServiceTime::constant(1e-6)});
  for (int i = 0; i < known_items; ++i)
    calls.items.push_back(draw());
  pipeline.recorded = std::make_shared<const model::RecordedCalls>(std::move(calls));
  return pipeline;
}

double between(std::mt19937& random, double least_us, double most_us) {
  return std::uniform_real_distribution(least_us * 1e-6, most_us * 1e-6)(random);
}

StageCalls calls(std::size_t count, const std::function<double()>& seconds) {
  StageCalls made;
  std::generate_n(std::back_inserter(made.seconds), count, seconds);
  made.outputs.assign(count, 1);
  return made;
}
StageCalls call(double seconds) {
  return calls(1, [=] { return seconds; });
}

// The same three as in auto_compare.
constexpr KnownItems known_streams[] = {
    {"unbalanced",
     [](std::mt19937& random) {
       return recorded_pipeline({StageKind::serial, StageKind::parallel, StageKind::parallel,
                                 StageKind::parallel, StageKind::ordered},
                                [&] {
                                  return std::vector{call(1e-6), call(between(random, 5, 15)),
                                                     call(random() % 50 == 0 ? 3e-3 : 1e-4),
                                                     call(between(random, 20, 60)), call(2e-6)};
                                });
     }},
    {"bursty",
     [](std::mt19937& random) {
       return recorded_pipeline(
           {StageKind::serial, StageKind::parallel, StageKind::parallel, StageKind::ordered}, [&] {
             const auto drawn = random() % 100;
             const std::size_t parts = drawn < 5 ? 60 : drawn < 60 ? 1 : 0;
             StageCalls split = call(20e-6);
             split.outputs = {static_cast<int>(parts)};
             return std::vector{call(2e-6), split, calls(parts, [&] { return between(random, 20, 60); }),
                                calls(parts, [] { return 1e-6; })};
           });
     }},
    {"serial",
     [](std::mt19937& random) {
       return recorded_pipeline({StageKind::serial, StageKind::parallel, StageKind::ordered,
                                 StageKind::parallel, StageKind::ordered},
                                [&] {
                                  return std::vector{call(2e-6), call(between(random, 50, 150)),
                                                     call(between(random, 100, 200)),
                                                     call(between(random, 20, 80)), call(2e-6)};
                                });
     }},
};

// The runtime's report for `items` items from `first` on, with this plan.
RunReport simulated_report(const model::Pipeline& stream, std::size_t first, std::size_t items,
                           const AutoPlan& plan) {
  model::Pipeline part = stream;
  const auto& all = stream.recorded->items;
  model::RecordedCalls calls{.items = {all.begin() + static_cast<std::ptrdiff_t>(first),
                                       all.begin() + static_cast<std::ptrdiff_t>(first + items)}};
  const bool stealing = plan.strategy == Strategy::stealing;
  RunReport report{
      .strategy = plan.strategy, .threads = plan.threads, .tokens = plan.tokens, .byte_budget = 1};
  for (std::size_t s = 0; s < part.stages.size(); ++s) {
    const StageKind kind = part.stages[s].kind;
    const char* name = s == 0 ? "source" : kind == StageKind::parallel ? "parallel" : "serial in order";
    StageReport stage{.name = name, .kind = name};
    for (const auto& item : calls.items) {
      stage.items_in += item[s].seconds.size();
      for (const int outputs : item[s].outputs)
        stage.items_out += static_cast<std::uint64_t>(outputs);
      for (const double seconds : item[s].seconds)
        stage.service_s.record(seconds, 1);
    }
    stage.busy_s = stage.service_s.sum();
    report.stages.push_back(std::move(stage));
  }
  part.recorded = std::make_shared<const model::RecordedCalls>(std::move(calls));
  const auto result = model::simulate(
      part,
      model::make_runtime_plan(part, stealing ? model::Strategy::stealing : model::Strategy::collapsed,
                               plan.threads, plan.threads, 20, plan.tokens),
      {.items = static_cast<std::int64_t>(items)});
  report.wall_s = result->seconds;
  if (stealing) {
    report.idle_s = result->pools.front().starved_seconds;
    // The simulation's threads starve at an open source only at the end.
    report.stages.front().blocked_s = report.idle_s / std::max(1, plan.threads - 1);
  }
  return report;
}

class AutoChoiceOfKnownItems : public testing::TestWithParam<std::tuple<KnownItems, int>> {};
INSTANTIATE_TEST_SUITE_P(streams, AutoChoiceOfKnownItems,
                         testing::Combine(testing::ValuesIn(known_streams), testing::Values(2, 4, 8)),
                         [](const auto& tested) {
                           return fmt::format("{}_on_{}", std::get<0>(tested.param).name,
                                              std::get<1>(tested.param));
                         });

TEST_P(AutoChoiceOfKnownItems, ends_with_tokens_that_reach_97_percent_of_the_best_and_no_more_than_useful) {
  MILLRACE_RELEASE_ONLY();
  const auto& [stream, threads] = GetParam();
  std::mt19937 random(3);
  const model::Pipeline items = stream.make(random);
  double best = 1e9;
  std::map<int, double> seconds;  // by tokens per thread
  for (const int tokens : {1, 2, 4, 5, 8, 16, 32, 64}) {
    seconds[tokens] =
        simulated_report(items, 0, known_items, {Strategy::stealing, threads, tokens * threads}).wall_s;
    best = std::min(best, seconds[tokens]);
  }
  AutoChoice choice({.threads = threads});
  double at_s = 0;
  std::size_t done = 0;
  // After the beginning, which has more.
  int most_tokens = 0;
  double settled_at_s = 0;
  for (std::size_t first = 0; done < 10 * known_items;) {
    const AutoChoice::Phase phase = choice.next();
    const std::size_t count = std::min<std::size_t>(phase.items, known_items - first);
    const RunReport report = simulated_report(items, first, count, phase.plan);
    first = (first + count) % known_items;
    done += count;
    at_s += report.wall_s;
    if (settled_at_s > 0) most_tokens = std::max(most_tokens, phase.plan.tokens);
    if (phase.plan.tokens <= 5 * threads && settled_at_s == 0) settled_at_s = at_s;
    choice.tell(report, at_s);
  }
  const double chosen = simulated_report(items, 0, known_items, choice.next().plan).wall_s;
  EXPECT_GE(best / chosen, 0.97) << to_string(choice.next().plan);
  // The whole stream, including all trials.
  EXPECT_GE(best * 10 / at_s, 0.95) << to_string(choice.next().plan);
  if (seconds[5] <= best / 0.99) {
    EXPECT_LE(most_tokens, 5 * threads);
    EXPECT_GT(settled_at_s, 0);
  }
}

TEST(AutoChoice, takes_more_tokens_where_threads_starve_beside_a_shut_source_though_no_model_sees_why) {
  AutoChoice choice({.threads = 4});
  double at_s = 0;
  while (at_s < 10) {
    const AutoChoice::Phase phase = choice.next();
    const bool starved = phase.plan.tokens < 64;
    const double wall = static_cast<double>(phase.items) * (starved ? 35e-6 : 26e-6);
    at_s += wall;
    RunReport report = report_of(phase.items, wall, {1e-6, 100e-6, 1e-6}, 1);
    report.threads = phase.plan.threads;
    report.idle_s = starved ? wall : 0;  // a quarter of four threads
    report.stages.front().blocked_s = starved ? wall / 2 : 0;
    choice.tell(report, at_s);
  }
  EXPECT_EQ(choice.next().plan, (AutoPlan{Strategy::stealing, 4, 64}));
}

TEST(StarvedForTokens, is_the_share_of_idle_threads_while_the_source_was_shut) {
  RunReport phase{.threads = 4, .byte_budget = 100, .peak_bytes = 10, .wall_s = 2, .idle_s = 2};
  phase.stages.emplace_back();
  EXPECT_EQ(starved_for_tokens(phase), 0);  // nothing to make: the source was open
  phase.stages.front().blocked_s = 1;
  EXPECT_DOUBLE_EQ(starved_for_tokens(phase), 0.25);
  phase.stages.front().blocked_s = 0.2;
  EXPECT_DOUBLE_EQ(starved_for_tokens(phase), 0.1);
  phase.peak_bytes = 100;
  EXPECT_EQ(starved_for_tokens(phase), 0);  // bytes, not tokens, shut the source
}

TEST(AutoChoice, asks_for_no_more_tokens_where_a_serial_stage_is_never_idle) {
  AutoChoice choice({.threads = 4});
  double at_s = 0;
  while (at_s < 5) {
    const AutoChoice::Phase phase = choice.next();
    const double wall = static_cast<double>(phase.items) * 101e-6;
    at_s += wall;
    RunReport report = report_of(phase.items, wall, {1e-6, 100e-6, 100e-6}, 1);
    report.threads = phase.plan.threads;
    report.idle_s = 2 * wall;
    report.stages.front().blocked_s = wall;
    choice.tell(report, at_s);
  }
  EXPECT_EQ(choice.next().plan, (AutoPlan{Strategy::stealing, 4, 16}));
  EXPECT_THAT(kinds_of(choice.decisions()), testing::ElementsAre(Decided::started));
}

}  // namespace
}  // namespace millrace::stream
