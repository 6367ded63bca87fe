#include "millrace/base/eventually_testing.h"
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
  std::atomic<int> begun_first = -1;  // item 1 in the narrow stage, or item 0 in the one behind
  const auto begins = [&](int item) {
    int none = -1;
    begun_first.compare_exchange_strong(none, item);
  };
  auto stream =
      source("count", [&]() -> std::optional<int> { return next < 3 ? std::optional(next++) : std::nullopt; })
          .stage(Kind::parallel, "before",
                 [&](int item) {
                   if (item == 2) {
                     // Its worker has left item 1 in front of the narrow stage; the other has to choose
                     // alone.
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

}  // namespace
}  // namespace millrace::stream
