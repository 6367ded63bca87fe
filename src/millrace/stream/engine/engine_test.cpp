// The conditions under which a phase stops calling the source.
#include "millrace/pool/serial_team.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/strategy/stealing.h"

#include <limits>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

class Numbers final : public SourceFunction {
 public:
  explicit Numbers(int count) : count_(count) {}
  Made next(const std::stop_token& /*stop*/, void* place, Emission& /*out*/) override {
    if (made_ == count_) return {};
    std::construct_at(static_cast<int*>(place), made_++);
    return {.item = true, .bytes = sizeof(int)};
  }

 private:
  int count_;
  int made_ = 0;
};

class Sink final : public StageFunction {
 public:
  void call(void* /*item*/, Emission& /*out*/) override {}
  bool map(void* /*item*/, void* /*output*/, Emission& /*out*/) override { return true; }
};

class EnginePhase : public testing::TestWithParam<bool> {
 protected:
  // The number of items in one phase of a stream of `items` items, and whether the source may have more.
  std::pair<std::uint64_t, bool> phase(int items, std::uint64_t most_items, double most_seconds) {
    Program program;
    program.source_name = "numbers";
    program.source = std::make_unique<Numbers>(items);
    program.stages.emplace_back(Stage{.name = "sink",
                                      .kind = Kind::serial_in_order,
                                      .options = {},
                                      .input = item_type<int>(),
                                      .form = StageForm::sink,
                                      .function = std::make_unique<Sink>(),
                                      .next = 1});
    program.order_stages();
    Engine engine(program,
                  {.tokens = 4,
                   .byte_budget = 1 << 20,
                   .alone = GetParam(),
                   .most_items = most_items,
                   .most_seconds = most_seconds},
                  {});
    pool::SerialTeam team;
    EXPECT_TRUE(run_stealing(engine, team, 1));
    EXPECT_TRUE(engine.status());
    return {engine.items(), engine.paused()};
  }
  static constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();
};
INSTANTIATE_TEST_SUITE_P(alone, EnginePhase, testing::Bool());

TEST_P(EnginePhase, ends_after_its_items) {
  for (const std::uint64_t items : {1U, 2U, 63U, 1000U})
    for (const double seconds : {1e9, std::numeric_limits<double>::infinity()})
      EXPECT_EQ(phase(5000, items, seconds), std::pair(items, true)) << items << ' ' << seconds;
}

TEST_P(EnginePhase, ends_after_its_time_with_one_item_at_least) {
  EXPECT_EQ(phase(5000, any_number, 0), std::pair(std::uint64_t{1}, true));
  // From a stream that would take seconds.
  const auto [items, paused] = phase(std::numeric_limits<int>::max(), any_number, 1e-4);
  EXPECT_GE(items, 1U);
  EXPECT_LT(items, 50'000'000U);
  EXPECT_TRUE(paused);
}

TEST_P(EnginePhase, ends_with_the_source) {
  EXPECT_EQ(phase(5000, any_number, 1e9), std::pair(std::uint64_t{5000}, false));
}

}  // namespace
}  // namespace millrace::stream
