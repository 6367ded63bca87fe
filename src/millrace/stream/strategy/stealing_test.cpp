#include "millrace/base/testing/eventually_testing.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"

#include <atomic>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(Stealing, serves_a_stage_in_order_before_it_goes_on_where_a_token_waits_for_its_turn) {
  const std::unique_ptr<pool::WorkerPool> workers = std::move(*pool::WorkerPool::create(2));
  pool::PoolTeam team = workers->team();
  int next = 0;
  std::atomic<bool> second_waits = false;
  std::atomic<int> begun_first = -1;  // item 1 in the narrow stage, or item 0 in the next one
  const auto begins = [&](int item) {
    int none = -1;
    begun_first.compare_exchange_strong(none, item);
  };
  auto stream =
      source("count", [&]() -> std::optional<int> { return next < 3 ? std::optional(next++) : std::nullopt; })
          .stage(Kind::parallel, "before",
                 [&](int item) {
                   if (item == 2) {
                     // Its worker has left item 1 before the narrow stage. The other worker has to choose by
                     // itself.
                     second_waits = true;
                     EXPECT_TRUE(eventually([&] { return begun_first != -1; }));
                   }
                   return item;
                 })
          .stage(Kind::serial_in_order, "narrow",
                 [&](int item) {
                   if (item == 0) {
                     EXPECT_TRUE(eventually([&] { return second_waits.load(); }));
                   }
                   if (item == 1) begins(item);
                   return item;
                 })
          .stage(Kind::parallel, "after",
                 [&](int item) {
                   if (item == 0) begins(item);
                   return item;
                 })
          .sink(Kind::serial_in_order, "write", [](int) {});
  ASSERT_TRUE(stream->run(team, {.strategy = Strategy::stealing, .threads = 2, .tokens = 3}).status);
  EXPECT_EQ(begun_first, 1);
}

// Long items after many short ones, for which a worker keeps the source. They only end when as many of them
// are in progress at once as there are workers.
void expect_that_long_items_meet(bool as_parts_of_one) {
  constexpr int workers = 4;
  constexpr int short_items = 20'000;
  constexpr int long_items = 3 * workers;
  std::atomic<int> arrived = 0;
  std::atomic<bool> met = true;
  const auto meet = [&] {
    const int all = (++arrived + workers - 1) / workers * workers;
    met = met && eventually([&] { return arrived >= all || !met; });
  };
  int next = 0;
  const int items = short_items + (as_parts_of_one ? 1 : long_items);
  auto stream =
      source("count",
             [&]() -> std::optional<int> { return next < items ? std::optional(next++) : std::nullopt; })
          .stage<int>(Kind::parallel, "split",
                      [&](int item, Output<int>& out) {
                        const int parts = as_parts_of_one && item >= short_items ? long_items : 1;
                        for (int part = 0; part < parts; ++part)
                          out.emit(item);
                      })
          .stage(Kind::parallel, "work",
                 [&](int item) {
                   if (item >= short_items) meet();
                   return item;
                 })
          .sink(Kind::serial_in_order, "write", [](int) {});
  const std::unique_ptr<pool::WorkerPool> pool = std::move(*pool::WorkerPool::create(workers));
  pool::PoolTeam team = pool->team();
  ASSERT_TRUE(stream->run(team, {.strategy = Strategy::stealing}).status);
  EXPECT_TRUE(met);
  EXPECT_EQ(arrived, long_items);
}

TEST(Stealing, shares_long_items_that_come_upon_a_worker_that_keeps_the_source) {
  expect_that_long_items_meet(false);
}

TEST(Stealing, shares_the_parts_of_an_item_that_comes_upon_a_worker_that_keeps_the_source) {
  expect_that_long_items_meet(true);
}

}  // namespace
}  // namespace millrace::stream
