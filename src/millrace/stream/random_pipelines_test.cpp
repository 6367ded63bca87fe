// Properties of every pipeline under every strategy: the items that enter each stage, their order and number,
// and no leaks. Compiled like user programs (see CMakeLists.txt).
#include "millrace/base/error/clock.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/random_pipeline_testing.h"
#include "millrace/stream/soak_testing.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

using Event = RandomPipeline::Event;
using Log = RandomPipeline::Log;

// Sanitizers slow everything down.
#ifdef MILLRACE_SANITIZED
constexpr std::uint32_t seeds = 40;
#else
constexpr std::uint32_t seeds = 100;
#endif

// Fewer, because each case has to wait for processors used by others.
constexpr std::uint32_t busy_seeds = 20;

constexpr int most_threads = 64;

RunOptions random_options(Strategy strategy, std::mt19937& random) {
  const auto one_of = [&](auto... choices) {
    const std::array values{choices...};
    return values[random() % values.size()];
  };
  RunOptions options;
  options.strategy = strategy;
  options.threads = one_of(1, 2, 3, 4, 4, most_threads);
  options.tokens = one_of(0, 1, 2, 5, 64);
  options.byte_budget = one_of(std::size_t{1}, std::size_t{100}, std::size_t{1} << 20);
  options.queue_depth = one_of(1, 2, 20);
  options.trace = one_of(Trace::off, Trace::summary, Trace::events);
  return options;
}

std::string describe(std::uint32_t seed, const RunOptions& options) {
  return fmt::format("seed {}: {}, {} threads, {} tokens, {} bytes, queues of {}", seed,
                     strategy_name(options.strategy), options.threads, options.tokens, options.byte_budget,
                     options.queue_depth);
}

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> values) {
  std::ranges::sort(values);
  return values;
}

class RandomPipelines : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }

  // Makes pipeline `seed` and calls check(pipeline, its team, random options, source of further randomness).
  template <class Check> void for_each_seed(std::uint32_t count, const Check& check) {
    auto pool = pool::WorkerPool::create(most_threads);
    ASSERT_TRUE(pool) << pool.error().message;
    pool::PoolTeam team = (*pool)->team();
    count = soaked(count);
    for (std::uint32_t seed = 0; seed < count && !HasFatalFailure(); ++seed) {
      std::mt19937 random(seed);
      const RandomPipeline pipeline(seed);
      const RunOptions options = random_options(GetParam(), random);
      SCOPED_TRACE(describe(seed, options));
      const Watchdog watchdog(describe(seed, options));
      check(pipeline, team, options, random);
    }
  }
};

TEST_P(RandomPipelines, every_stage_gets_every_item_once_and_in_order) {
  for_each_seed(seeds,
                [](const RandomPipeline& pipeline, pool::Team& team, const RunOptions& options, auto&) {
                  RandomPipeline::Record record(pipeline.stage_count());
                  auto stream = pipeline.build(record);
                  ASSERT_TRUE(stream) << stream.error().message;
                  const Finished finished = stream->run(team, options);
                  record.end();
                  ASSERT_TRUE(finished.status) << finished.status.error().message;
                  const Log expected = pipeline.reference();
                  for (std::size_t stage = 0; stage < expected.size(); ++stage) {
                    if (pipeline.kind(stage) == Kind::serial_in_order)
                      ASSERT_EQ(record.log[stage], expected[stage]) << stage;
                    else
                      ASSERT_EQ(sorted(record.log[stage]), sorted(expected[stage])) << stage;
                    EXPECT_EQ(finished.report.stages[stage + 1].items_in, expected[stage].size());
                  }
                  EXPECT_EQ(finished.report.stages[0].items_out, pipeline.items());
                  EXPECT_EQ(record.overlaps, 0);
                  EXPECT_EQ(record.alive, 0);
                });
}

// Picks a random stage and item for an event, among those that occur.
std::optional<Event> random_event(const RandomPipeline& pipeline, Event::What what, std::mt19937& random) {
  const Log log = pipeline.reference();
  const std::size_t stage = random() % log.size();
  if (log[stage].empty()) return std::nullopt;
  return Event{what, stage, log[stage][random() % log[stage].size()]};
}

void expect_prefix_up_to(const RandomPipeline& pipeline, const Event& event,
                         const RandomPipeline::Record& record) {
  const Log least = pipeline.reference(event);
  const Log most = pipeline.reference();
  for (std::size_t stage = 0; stage < least.size(); ++stage) {
    const auto& seen = record.log[stage];
    if (pipeline.kind(stage) == Kind::serial_in_order && stage >= event.stage) {
      ASSERT_EQ(seen, least[stage]) << stage;
    } else {
      // Everything before the event, possibly some items after it, and nothing twice.
      ASSERT_TRUE(std::ranges::includes(sorted(seen), sorted(least[stage]))) << stage;
      ASSERT_TRUE(std::ranges::includes(sorted(most[stage]), sorted(seen))) << stage;
    }
    if (pipeline.kind(stage) == Kind::serial_in_order) {
      ASSERT_TRUE(std::ranges::equal(seen, std::span(most[stage]).first(seen.size()))) << stage;
    }
  }
  EXPECT_EQ(record.overlaps, 0);
  EXPECT_EQ(record.alive, 0);
}

TEST_P(RandomPipelines, a_failure_anywhere_lets_through_what_came_before_and_nothing_after) {
  for_each_seed(seeds, [](const RandomPipeline& pipeline, pool::Team& team, const RunOptions& options,
                          std::mt19937& random) {
    const auto event = random_event(pipeline, Event::What::failure, random);
    if (!event) return;
    RandomPipeline::Record record(pipeline.stage_count());
    auto stream = pipeline.build(record, *event);
    ASSERT_TRUE(stream) << stream.error().message;
    const Finished finished = stream->run(team, options);
    record.end();
    ASSERT_FALSE(finished.status);
    EXPECT_EQ(finished.status.error().kind, ErrorKind::failure);
    EXPECT_NE(finished.status.error().message.find("stage '" + RandomPipeline::name(event->stage) +
                                                   "' failed at item "),
              std::string::npos)
        << finished.status.error().message;
    expect_prefix_up_to(pipeline, *event, record);
  });
}

TEST_P(RandomPipelines, a_failure_of_the_source_lets_through_what_it_made) {
  for_each_seed(seeds, [](const RandomPipeline& pipeline, pool::Team& team, const RunOptions& options,
                          std::mt19937& random) {
    if (pipeline.items() == 0) return;
    const Event event{.what = Event::What::source_failure, .value = random() % pipeline.items()};
    RandomPipeline::Record record(pipeline.stage_count());
    auto stream = pipeline.build(record, event);
    ASSERT_TRUE(stream) << stream.error().message;
    const Finished finished = stream->run(team, options);
    record.end();
    ASSERT_FALSE(finished.status);
    EXPECT_EQ(finished.status.error().message,
              fmt::format("source 'source' failed at item {}: planned", event.value));
    const Log expected = pipeline.reference(event);
    for (std::size_t stage = 0; stage < expected.size(); ++stage) {
      if (pipeline.kind(stage) == Kind::serial_in_order)
        ASSERT_EQ(record.log[stage], expected[stage]) << stage;
      else
        ASSERT_EQ(sorted(record.log[stage]), sorted(expected[stage])) << stage;
    }
    EXPECT_EQ(record.overlaps, 0);
    EXPECT_EQ(record.alive, 0);
  });
}

TEST_P(RandomPipelines, an_end_of_stream_anywhere_lets_through_what_came_before_and_nothing_after) {
  for_each_seed(seeds, [](const RandomPipeline& pipeline, pool::Team& team, const RunOptions& options,
                          std::mt19937& random) {
    const auto event = random_event(pipeline, Event::What::end_of_stream, random);
    if (!event) return;
    RandomPipeline::Record record(pipeline.stage_count());
    auto stream = pipeline.build(record, *event);
    ASSERT_TRUE(stream) << stream.error().message;
    const Finished finished = stream->run(team, options);
    record.end();
    ASSERT_TRUE(finished.status) << finished.status.error().message;
    expect_prefix_up_to(pipeline, *event, record);
  });
}

TEST_P(RandomPipelines, a_stop_at_any_moment_leaves_a_prefix_and_nothing_behind) {
  for_each_seed(
      seeds, [](const RandomPipeline& pipeline, pool::Team& team, RunOptions options, std::mt19937& random) {
        RandomPipeline::Record record(pipeline.stage_count());
        auto stream = pipeline.build(record);
        ASSERT_TRUE(stream) << stream.error().message;
        std::stop_source stop;
        options.stop = stop.get_token();
        const auto delay = std::chrono::microseconds(random() % 600);
        std::jthread stopper([&] {
          std::this_thread::sleep_for(delay);
          stop.request_stop();
        });
        const Finished finished = stream->run(team, options);
        stopper.join();
        record.end();
        if (!finished.status) {
          EXPECT_EQ(finished.status.error().kind, ErrorKind::interrupted);
        }
        const Log whole = pipeline.reference();
        for (std::size_t stage = 0; stage < whole.size(); ++stage) {
          const auto& seen = record.log[stage];
          if (pipeline.kind(stage) == Kind::serial_in_order) {
            ASSERT_LE(seen.size(), whole[stage].size());
            ASSERT_TRUE(std::ranges::equal(seen, std::span(whole[stage]).first(seen.size()))) << stage;
          }
          ASSERT_TRUE(std::ranges::includes(sorted(whole[stage]), sorted(seen))) << stage;
        }
        EXPECT_EQ(record.overlaps, 0);
        EXPECT_EQ(record.alive, 0);
      });
}

// Deadlocks show up when threads are preempted at bad moments.
TEST_P(RandomPipelines, end_on_busy_cores_with_the_least_memory) {
  std::atomic<bool> over = false;
  std::vector<std::jthread> load;
  for (int i = 0; i < 4; ++i)
    // Load in bursts: a thread that wakes up preempts another at any moment, but only briefly, so that many
    // cases can be tried.
    load.emplace_back([&, random = std::minstd_rand(static_cast<unsigned>(i + 1))]() mutable {
      while (!over.load(std::memory_order_relaxed)) {
        const std::int64_t until = now_ns() + 10'000 + static_cast<std::int64_t>(random() % 200'000);
        while (now_ns() < until) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  for_each_seed(busy_seeds, [](const RandomPipeline& pipeline, pool::Team& team, RunOptions options,
                               std::mt19937& random) {
    options.threads = std::min(options.threads, 4);
    options.tokens = 1 + static_cast<int>(random() % 2);
    options.byte_budget = 1;
    options.queue_depth = 1;
    RandomPipeline::Record record(pipeline.stage_count());
    auto stream = pipeline.build(record);
    ASSERT_TRUE(stream) << stream.error().message;
    ASSERT_TRUE(stream->run(team, options).status);
    record.end();
    const Log expected = pipeline.reference();
    for (std::size_t stage = 0; stage < expected.size(); ++stage)
      ASSERT_EQ(record.log[stage].size(), expected[stage].size());
    EXPECT_EQ(record.alive, 0);
  });
  over = true;
}

INSTANTIATE_TEST_SUITE_P(strategies, RandomPipelines, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

}  // namespace
}  // namespace millrace::stream
