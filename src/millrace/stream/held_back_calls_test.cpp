// Calls that make many outputs: bytes in flight, order and outcome.
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/later_testing.h"
#include "millrace/stream/soak_testing.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

void raise_to(std::atomic<std::int64_t>& peak, std::int64_t value) {
  std::int64_t before = peak;
  while (before < value && !peak.compare_exchange_weak(before, value)) {
  }
}

struct Tally {
  std::atomic<std::int64_t> alive = 0;
  std::atomic<std::int64_t> peak = 0;
  std::atomic<std::int64_t> calls = 0;  // that make many outputs
  std::atomic<std::int64_t> peak_calls = 0;
};

// A large item that counts its living instances, so that few outputs fill a batch.
class Block {
 public:
  Block(std::uint64_t value, Tally& tally) : value_(value), tally_(&tally) {
    raise_to(tally.peak, ++tally.alive);
  }
  Block(Block&& other) noexcept : value_(other.value_), tally_(std::exchange(other.tally_, nullptr)) {}
  Block& operator=(Block&&) = delete;
  ~Block() {
    if (tally_) --tally_->alive;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
  Tally* tally_;
  [[maybe_unused]] std::byte content_[2000];
};

class ManyOutputsCall {
 public:
  explicit ManyOutputsCall(Tally& tally) : tally_(&tally) { raise_to(tally.peak_calls, ++tally.calls); }
  ~ManyOutputsCall() { --tally_->calls; }
  ManyOutputsCall(const ManyOutputsCall&) = delete;
  ManyOutputsCall& operator=(const ManyOutputsCall&) = delete;

 private:
  Tally* tally_;
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 31);
}

// A line of stages that multiply items, in front of a sink in order. Some outputs pass by the later stages.
// What becomes of an item depends on its value only.
class Multiplier {
 public:
  Multiplier(std::mt19937& random, bool may_block) {
    const auto pick = [&](int least, int greatest) {
      return std::uniform_int_distribution(least, greatest)(random);
    };
    items_ = static_cast<std::uint64_t>(pick(1, 12));
    int left = 600;  // outputs of an item
    for (int i = pick(1, 4); i > 0; --i) {
      Spec& spec = stages_.emplace_back();
      spec.most = left >= 300 && pick(0, 1) == 0 ? pick(100, 300) : std::min(left, pick(1, 3));
      left = std::max(1, left / spec.most);
      spec.kind = static_cast<Kind>(pick(0, 2));
      spec.limit = spec.kind == Kind::parallel && pick(0, 3) == 0 ? pick(1, 3) : 0;
      spec.blocking = may_block && pick(0, 4) == 0;
      spec.waits = !spec.blocking && pick(0, 4) == 0;
      spec.arrives = pick(0, 3) == 0;
    }
    if (pick(0, 2) != 0) return;
    failing_stage_ = static_cast<std::size_t>(pick(0, static_cast<int>(stages_.size()) - 1));
    failing_item_ = static_cast<std::uint64_t>(pick(0, static_cast<int>(items_) - 1));
  }

  [[nodiscard]] std::uint64_t items() const { return items_; }

  // What the sink gets. The call that fails may have handed on some of its outputs, those from least_size on.
  struct Reference {
    std::vector<std::uint64_t> values;
    std::size_t least_size = 0;
    bool fails = false;
    std::uint64_t failing_value = 0;
  };
  [[nodiscard]] Reference reference() const {
    Reference found;
    for (std::uint64_t item = 0; item < items_ && !found.fails; ++item)
      visit(0, mixed(item, 5), item, found);
    if (!found.fails) found.least_size = found.values.size();
    return found;
  }

  struct Record {
    Tally tally;
    std::vector<std::uint64_t> sunk;
    std::optional<Later> later;
  };
  [[nodiscard]] Result<Stream> build(Record& record, const Reference& expected) const {
    const Port<Block> past("past");
    auto next = std::make_shared<std::uint64_t>(0);
    Flow<Block> flow = source("source", [this, next, &record]() -> std::optional<Block> {
      if (*next == items_) return std::nullopt;
      return Block(mixed((*next)++, 5), record.tally);
    });
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const std::string number = std::to_string(i);
      if (stages_[i].waits) {
        if (!record.later) record.later.emplace();
        flow = std::move(flow).template stage<Block>(
            Kind::parallel, "wait " + number, [&record](Block block, Continuation<Block> done) {
              record.later->post(
                  [block = std::move(block), done]() mutable { done.resume(std::move(block)); });
            });
      }
      if (stages_[i].arrives)
        flow = std::move(flow).stage(Kind::serial_as_they_come, "arrive " + number,
                                     [](Block block) { return block; });
      flow = std::move(flow).template stage<Block>(
          stages_[i].kind, "multiply " + number,
          [this, i, &record, past, expected](Block block, Output<Block>& out) {
            const std::uint64_t value = block.value();
            const bool fails = expected.fails && value == expected.failing_value;
            {
              const Block gone = std::move(block);
            }
            std::optional<ManyOutputsCall> call;
            const std::uint64_t outputs = count(i, value);
            if (outputs > 3) call.emplace(record.tally);
            for (std::uint64_t k = 0; k < outputs; ++k) {
              Block output(mixed(value, k), record.tally);
              if (passes_by(i, k))
                out.emit(past, std::move(output));
              else
                out.emit(std::move(output));
            }
            if (fails) throw std::runtime_error("planned");
          },
          {.blocking = stages_[i].blocking, .blocking_threads = 2, .limit = stages_[i].limit});
    }
    return std::move(flow).land(past).sink(Kind::serial_in_order, "sink", [&record](const Block& block) {
      record.sunk.push_back(block.value());
    });
  }

 private:
  struct Spec {
    Kind kind = Kind::parallel;
    int most = 1;
    int limit = 0;
    bool blocking = false;
    bool waits = false;
    bool arrives = false;
  };

  [[nodiscard]] std::uint64_t count(std::size_t stage, std::uint64_t value) const {
    const auto most = static_cast<std::uint64_t>(stages_[stage].most);
    return most == 1 ? 1 : mixed(value, stage) % (most + 1);
  }
  [[nodiscard]] bool passes_by(std::size_t stage, std::uint64_t output) const {
    return stage + 1 < stages_.size() && output % 7 == 3;
  }
  void visit(std::size_t stage, std::uint64_t value, std::uint64_t item, Reference& found) const {
    if (found.fails) return;
    if (stage == stages_.size()) {
      found.values.push_back(value);
      return;
    }
    const bool fails = failing_stage_ == stage && failing_item_ == item;
    const std::size_t before = found.values.size();
    const std::uint64_t outputs = count(stage, value);
    for (std::uint64_t k = 0; k < outputs; ++k)
      visit(passes_by(stage, k) ? stages_.size() : stage + 1, mixed(value, k), item, found);
    if (!fails || found.fails) return;
    found.fails = true;
    found.failing_value = value;
    found.least_size = before;
  }

  std::uint64_t items_ = 0;
  std::vector<Spec> stages_;
  std::size_t failing_stage_ = 1000;
  std::uint64_t failing_item_ = 0;
};

class ManyOutputs : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }
};

constexpr std::size_t least_batch = std::size_t{64} << 10;  // in bytes, as docs/stream.md says

TEST_P(ManyOutputs, of_calls_keep_the_order_and_stay_within_the_budget) {
  for (std::uint32_t seed = 1; seed <= soaked(100); ++seed) {
    std::mt19937 random(seed);
    const Multiplier multiplier(random, GetParam() != Strategy::tbb);
    const Multiplier::Reference expected = multiplier.reference();
    const int threads = 1 + static_cast<int>(random() % 4);
    const std::size_t budgets[] = {1, 200'000, 1'000'000};
    const RunOptions options{.strategy = GetParam(),
                             .threads = threads,
                             .tokens = 1 + static_cast<int>(random() % 12),
                             .byte_budget = budgets[random() % 3],
                             .queue_depth = 1 + static_cast<int>(random() % 20)};
    const std::string what = "seed " + std::to_string(seed) + ", strategy " +
                             std::string(strategy_name(GetParam())) + ", threads " + std::to_string(threads) +
                             ", tokens " + std::to_string(options.tokens) + ", budget " +
                             std::to_string(options.byte_budget);
    SCOPED_TRACE(what);
    const Watchdog watchdog(what, std::chrono::seconds(60));
    Multiplier::Record record;
    auto stream = multiplier.build(record, expected);
    ASSERT_TRUE(stream) << stream.error().message;
    auto pool = pool::WorkerPool::create(threads);
    ASSERT_TRUE(pool);
    auto team = (*pool)->team();
    const Finished finished = stream->run(team, options);
    if (record.later) record.later->end();

    ASSERT_EQ(finished.status.has_value(), !expected.fails);
    ASSERT_GE(record.sunk.size(), expected.least_size);
    ASSERT_LE(record.sunk.size(), expected.values.size());
    const auto end = expected.values.begin() + static_cast<std::ptrdiff_t>(record.sunk.size());
    ASSERT_TRUE(std::equal(expected.values.begin(), end, record.sunk.begin()));
    ASSERT_EQ(record.tally.alive, 0);
    // Each call under way may keep a batch and have one in flight. A token has room for two items, so this is
    // twice what may be there. Besides, an item for each token and thread.
    const auto batch =
        static_cast<std::int64_t>(std::max(least_batch, options.byte_budget / 8) / sizeof(Block) + 1);
    const std::int64_t allowed = static_cast<std::int64_t>(options.byte_budget / sizeof(Block)) +
                                 2 * batch * record.tally.peak_calls +
                                 static_cast<std::int64_t>(multiplier.items()) * 4 + 2 * threads;
    ASSERT_LE(record.tally.peak, allowed);
  }
}

// The outputs of the items together exceed the budget a hundredfold, and so do those of each.
TEST_P(ManyOutputs, of_one_call_wait_for_room) {
  constexpr std::size_t budget = 1 << 20;
  constexpr std::int64_t each = 100'000;
  struct Case {
    int threads;
    int items;
    Kind kind;
    int limit;
  };
  for (const auto& [threads, items, kind, limit] :
       {Case{1, 1, Kind::parallel, 0}, Case{2, 3, Kind::parallel, 0}, Case{4, 3, Kind::parallel, 0},
        Case{2, 3, Kind::serial_in_order, 0}, Case{1, 1, Kind::parallel, 1}, Case{1, 3, Kind::parallel, 2},
        Case{3, 5, Kind::parallel, 1}, Case{4, 5, Kind::parallel, 3},
        Case{1, 3, Kind::serial_as_they_come, 0}, Case{3, 1, Kind::serial_as_they_come, 0},
        Case{3, 4, Kind::serial_as_they_come, 0}}) {
    SCOPED_TRACE(fmt::format("{} threads, {} items, {}, limit {}", threads, items, kind_name(kind), limit));
    const Watchdog watchdog(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::atomic<std::int64_t> alive = 0;
    std::atomic<std::int64_t> peak = 0;
    std::int64_t seen = 0;
    auto stream = source("make",
                         [items, next = 0]() mutable -> std::optional<int> {
                           return next < items ? std::optional(next++) : std::nullopt;
                         })
                      // Items arrive at the next stage in another order.
                      .stage(Kind::parallel, "overtake",
                             [](int item) {
                               if (item % 2 == 0) std::this_thread::yield();
                               return item;
                             })
                      .stage<std::int64_t>(kind, "explode",
                                           [&](int item, Output<std::int64_t>& out) {
                                             for (std::int64_t i = 0; i < each; ++i) {
                                               raise_to(peak, ++alive);
                                               out.emit(item * each + i);
                                             }
                                           },
                                           {.limit = limit})
                      .stage(Kind::parallel, "pass", [](std::int64_t value) { return value; })
                      .sink(Kind::serial_in_order, "count", [&](std::int64_t value) {
                        EXPECT_EQ(value, seen++);
                        --alive;
                      });
    ASSERT_TRUE(stream);
    auto pool = pool::WorkerPool::create(threads);
    auto team = (*pool)->team();
    const Finished finished = stream->run(team, {.strategy = GetParam(), .byte_budget = budget});
    ASSERT_TRUE(finished.status) << finished.status.error().message;
    EXPECT_EQ(seen, items * each);
    // An output takes a token of 128 bytes.
    EXPECT_LT(peak * 128,
              static_cast<std::int64_t>(budget + 2 * (budget / 8) * static_cast<std::size_t>(items)));
    EXPECT_LT(finished.report.peak_bytes, 2 * budget);
  }
}

// A call that never ends by itself, as long as its outputs are wanted.
TEST_P(ManyOutputs, without_an_end_heed_a_stop_and_an_earlier_failure) {
  struct Case {
    bool stops;
    Kind kind;
    int limit;
  };
  for (const auto& [stops, kind, limit] :
       {Case{true, Kind::parallel, 0}, Case{false, Kind::parallel, 0}, Case{true, Kind::parallel, 1},
        Case{false, Kind::parallel, 2}, Case{true, Kind::serial_as_they_come, 0},
        Case{false, Kind::serial_as_they_come, 0}, Case{true, Kind::serial_in_order, 0}}) {
    SCOPED_TRACE(fmt::format("{}, {}, limit {}", stops ? "stop" : "failure", kind_name(kind), limit));
    const Watchdog watchdog(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::stop_source stop;
    auto stream = source("make",
                         [next = 0]() mutable -> std::optional<int> {
                           return next == 0 ? std::optional(next++) : std::nullopt;
                         })
                      .stage<int>(kind, "explode",
                                  [](int, Output<int>& out) {
                                    for (int i = 0;; ++i)
                                      out.emit(i);
                                  },
                                  {.limit = limit})
                      .sink(Kind::serial_in_order, "end", [&, stops = stops](int value) -> Status {
                        if (value != 5000) return {};
                        if (!stops) return failure("enough");
                        stop.request_stop();
                        return {};
                      });
    ASSERT_TRUE(stream);
    auto pool = pool::WorkerPool::create(2);
    auto team = (*pool)->team();
    const Finished finished =
        stream->run(team, {.strategy = GetParam(), .byte_budget = 1 << 20, .stop = stop.get_token()});
    ASSERT_FALSE(finished.status);
    EXPECT_THAT(finished.status.error().message,
                testing::HasSubstr(stops ? "stopped" : "stage 'end' failed at item 0.5000: enough"));
  }
}

INSTANTIATE_TEST_SUITE_P(strategies, ManyOutputs, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

}  // namespace
}  // namespace millrace::stream
