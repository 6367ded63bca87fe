// The phases of `auto` are not observable from outside.
#include "millrace/machine/thread/refused_calls_testing.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/strategies_testing.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::stream {
namespace {

class AutoRun : public testing::Test {
 protected:
  static constexpr int items = 60'000;  // several phases

  static RunOptions options(Trace trace = Trace::off) {
    return {.strategy = Strategy::auto_, .trace = trace};
  }
  std::unique_ptr<pool::WorkerPool> pool_ = std::move(*pool::WorkerPool::create(2));
  pool::PoolTeam team_ = pool_->team();
  int next_ = 0;
  std::vector<int> seen_;

  Result<Stream> numbers(std::function<Result<int>(int)> work) {
    return source("count",
                  [this]() -> std::optional<int> {
                    return next_ < items ? std::optional(next_++) : std::nullopt;
                  })
        .stage(Kind::parallel, "work", std::move(work))
        .sink(Kind::serial_in_order, "collect", [this](int item) { seen_.push_back(item); });
  }
};

TEST_F(AutoRun, keeps_every_item_and_the_order_from_phase_to_phase) {
  auto stream = numbers([](int item) -> Result<int> { return item; });
  const Finished finished = stream->run(team_, options());
  ASSERT_TRUE(finished.status);
  ASSERT_EQ(seen_.size(), static_cast<std::size_t>(items));
  EXPECT_TRUE(std::ranges::is_sorted(seen_));
  for (const StageReport& stage : finished.report.stages)
    EXPECT_EQ(stage.items_in, static_cast<std::uint64_t>(items)) << stage.name;
  EXPECT_FALSE(finished.report.strategy_reason.empty());
}

TEST_F(AutoRun, names_a_failed_item_by_its_place_in_the_stream) {
  auto stream = numbers([](int item) -> Result<int> {
    if (item == 41'234) return failure("no");
    return item;
  });
  const Finished finished = stream->run(team_, options());
  ASSERT_FALSE(finished.status);
  EXPECT_EQ(finished.status.error().message, "stage 'work' failed at item 41234: no");
  EXPECT_EQ(seen_.size(), 41'234U);
}

TEST_F(AutoRun, ends_where_a_stage_ends_the_stream) {
  auto stream = source("count", [this]() -> std::optional<int> {
                  return next_++;
                }).sink(Kind::serial_in_order, "collect", [this](int item, Output<void>& out) {
    seen_.push_back(item);
    if (item == 30'000) out.end_stream();
  });
  const Finished finished = stream->run(team_, options());
  ASSERT_TRUE(finished.status);
  EXPECT_EQ(seen_.size(), 30'001U);
}

// Items so small that the runtime takes most of the time. The model ignores this overhead, so it favours
// `collapsed`, which needs a thread for each stage.
TEST_F(AutoRun, goes_on_where_a_plan_on_trial_gets_no_threads) {
#ifdef MILLRACE_WATCHES_THREADS
  GTEST_SKIP() << "SKIPPED: the thread sanitizer lets a forked process start no threads";
#endif
  constexpr int small_items = 6'000'000;
  const auto run = [&] {
    auto pool = pool::WorkerPool::create(2);
    if (!pool || !machine::refuse_system_calls({SYS_clone, SYS_clone3})) std::_Exit(2);
    pool::PoolTeam team = (*pool)->team();
    // The order of trials depends on the measured times, so sometimes a plan is adopted earlier.
    for (int attempt = 0; attempt < 20; ++attempt) {
      int made = 0;
      int expected = 0;
      auto stream =
          source("count", [&]() -> std::optional<int> {
            return made < small_items ? std::optional(made++) : std::nullopt;
          }).stage(Kind::parallel, "work", [](int item) {
              return item;
            }).sink(Kind::serial_in_order, "collect", [&](int item) { expected += item == expected; });
      const Finished finished = stream->run(team, options());
      if (!finished.status) fmt::print(stderr, "{}\n", finished.status.error().message);
      if (!finished.status || expected != small_items || finished.report.stages[0].items_in != small_items)
        break;
      const bool was_refused =
          std::ranges::any_of(finished.report.decisions, [](const PlanDecision& decision) {
            return decision.kind == PlanDecision::Kind::rejected && decision.item_s == 0;
          });
      // Do not join the workers in a process that is about to exit.
      if (was_refused) std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(AutoRun, draws_all_phases_on_one_time_line) {
  auto stream = numbers([](int item) -> Result<int> { return item; });
  const RunReport report = stream->run(team_, options(Trace::events)).report;
  std::set<std::uint64_t> numbers_drawn;
  for (const TraceEvent& event : report.events) {
    numbers_drawn.insert(event.item);
    EXPECT_LE(static_cast<double>(event.start_ns) * 1e-9, report.wall_s);
  }
  EXPECT_GT(*numbers_drawn.rbegin(), 5000U);  // beyond the first phases
}

}  // namespace
}  // namespace millrace::stream
