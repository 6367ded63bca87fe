// Fails every allocation of a run in turn: only that one, or all from it on. Compiled like user programs (see
// CMakeLists.txt).
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/phase.h"
#include "millrace/stream/random_pipeline_testing.h"
#include "millrace/stream/soak_testing.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define MILLRACE_WATCHES_LEAKS 1
#endif
#endif

namespace {

constexpr std::int64_t never = -1;
std::atomic<std::int64_t> until_failure = never;  // allocations that succeed first
std::atomic<bool> fails_from_there_on = false;
std::atomic<bool> has_failed = false;

bool allocation_fails() {
  if (until_failure.load(std::memory_order_relaxed) == never) return false;
  // Stays at 0 to fail all later allocations, or goes below 0 to fail only one.
  std::int64_t left = until_failure.load();
  while (left > 0 || (left == 0 && !fails_from_there_on))
    if (until_failure.compare_exchange_weak(left, left - 1)) break;
  if (left != 0) return false;
  has_failed = true;
  return true;
}

}  // namespace

#ifdef MILLRACE_SANITIZED
// The sanitizers replace operator new themselves. The linker wraps it with these (see CMakeLists.txt).
// NOLINTBEGIN(bugprone-reserved-identifier): as the linker wants them.
extern "C" {
void* __real__Znwm(std::size_t size);
void* __real__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment);
void* __wrap__Znwm(std::size_t size) {
  if (allocation_fails()) throw std::bad_alloc();
  return __real__Znwm(size);
}
void* __wrap__ZnwmSt11align_val_t(std::size_t size, std::align_val_t alignment) {
  if (allocation_fails()) throw std::bad_alloc();
  return __real__ZnwmSt11align_val_t(size, alignment);
}
}
// NOLINTEND(bugprone-reserved-identifier)
#else
namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (!allocation_fails())
    if (void* memory = std::aligned_alloc(alignment, (std::max(size, alignment) + alignment - 1) / alignment *
                                                         alignment))
      return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete): the analyser takes these for callers of operator delete.
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
// NOLINTEND(clang-analyzer-cplusplus.NewDelete)
#endif

namespace millrace::stream {
namespace {

enum class How { one, all_from_there_on };

// For its lifetime, allocations fail.
class FailingAllocations {
 public:
  FailingAllocations(std::int64_t succeeding, How how) {
#ifdef MILLRACE_WATCHES_LEAKS
    // If the construction of a oneTBB graph fails, it leaks the queue of its last node. The tests count items
    // themselves.
    __lsan_disable();
#endif
    has_failed = false;
    fails_from_there_on = how == How::all_from_there_on;
    until_failure = succeeding;
  }
  ~FailingAllocations() {
    until_failure = never;
#ifdef MILLRACE_WATCHES_LEAKS
    __lsan_enable();
#endif
  }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
};

TEST(FailingAllocations, fail_at_the_given_one_and_behind_it_if_asked_to) {
  const auto fails = [] {
    try {
      ::operator delete(::operator new(1));
      return false;
    } catch (const std::bad_alloc&) {
      return true;
    }
  };
  for (const How how : {How::one, How::all_from_there_on}) {
    const FailingAllocations failing(1, how);
    EXPECT_FALSE(fails());
    EXPECT_TRUE(fails());
    EXPECT_EQ(fails(), how == How::all_from_there_on);
  }
  EXPECT_FALSE(fails());
}

// Streams whose functions allocate nothing, so only the runtime's allocations fail. They end in an in-order
// stage that records its items.
enum class Sort { mapped, split, blocking, ended, failing, bypassed };
constexpr std::array sorts{Sort::mapped, Sort::split,   Sort::blocking,
                           Sort::ended,  Sort::failing, Sort::bypassed};
constexpr std::uint64_t items = 30;
constexpr std::uint64_t event = 20;
constexpr std::uint64_t most_parts = 12;

std::uint64_t parts_of(Sort sort, std::uint64_t item) {
  return sort == Sort::split || sort == Sort::ended || sort == Sort::failing ? item % most_parts : 1;
}

std::vector<std::uint64_t> expected(Sort sort) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t item = 0; item < items; ++item) {
    if (sort == Sort::failing && item == event) break;
    for (std::uint64_t part = 0; part < parts_of(sort, item); ++part)
      values.push_back(item * most_parts + part);
    if (sort == Sort::ended && item == event) break;
  }
  return values;
}

struct Record {
  Record() { seen.reserve(items * most_parts); }
  std::uint64_t next = 0;
  std::atomic<int> alive = 0;
  std::vector<std::uint64_t> seen;
};

Stream stream_of(Sort sort, Record& record) {
  auto flow = source("count",
                     [&]() -> std::optional<Counted> {
                       if (record.next == items) return std::nullopt;
                       return Counted(record.next++ * most_parts, record.alive);
                     },
                     {.blocking = sort == Sort::blocking});
  const Port<Counted> past("past");
  if (sort == Sort::blocking)
    flow = std::move(flow)
               .stage(Kind::parallel, "wait", [](Counted item) { return item; },
                      {.blocking = true, .blocking_threads = 3})
               .stage(Kind::serial_as_they_come, "narrow", [](Counted item) { return item; });
  else if (sort == Sort::mapped)
    flow = std::move(flow).stage(Kind::parallel, "pass", [](Counted item) { return item; });
  else
    flow = std::move(flow)
               .stage<Counted>(Kind::parallel, "split",
                               [sort, past, &record](Counted item, Output<Counted>& out) {
                                 const std::uint64_t number = item.value() / most_parts;
                                 if (sort == Sort::failing && number == event)
                                   throw std::runtime_error("as planned, with a text that needs memory");
                                 for (std::uint64_t part = 0; part < parts_of(sort, number); ++part) {
                                   Counted output(item.value() + part, record.alive);
                                   if (sort == Sort::bypassed && number % 2 == 0)
                                     out.emit(past, std::move(output));
                                   else
                                     out.emit(std::move(output));
                                 }
                                 if (sort == Sort::ended && number == event) out.end_stream();
                               })
               .stage(Kind::serial_in_order, "between", [](Counted item) { return item; });
  auto made = std::move(flow).land(past).sink(
      Kind::serial_in_order, "note", [&](const Counted& item) { record.seen.push_back(item.value()); });
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

class FailedAllocation : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }

  RunOptions options(Trace trace) const { return {.strategy = GetParam(), .queue_depth = 2, .trace = trace}; }

  std::unique_ptr<pool::WorkerPool> pool_ = std::move(*pool::WorkerPool::create(3));
  Watchdog watchdog_{testing::UnitTest::GetInstance()->current_test_info()->name(),
                     std::chrono::seconds(300)};
};

bool speaks_of_memory(const Error& error) { return error.message.find("out of memory") != std::string::npos; }

TEST_P(FailedAllocation, of_the_runtime_is_an_ordinary_failure_wherever_it_happens) {
  pool::PoolTeam team = pool_->team();
  for (const Sort sort : sorts)
    for (const How how : {How::one, How::all_from_there_on}) {
      const std::vector<std::uint64_t> all = expected(sort);
      bool failed = true;
      std::int64_t number = 0;
      for (; failed; number += how == How::one ? 1 : 1 + number / 8) {
        Record record;
        Stream stream = stream_of(sort, record);
        std::optional<Finished> finished;
        {
          const FailingAllocations failing(number, how);
          finished = stream.run(team, options(number % 2 == 0 ? Trace::off : Trace::events));
        }
        failed = has_failed;
        SCOPED_TRACE(fmt::format("sort {}, allocation {}, failed {} of kind {}", static_cast<int>(sort),
                                 number, failed, static_cast<int>(how)));
        ASSERT_EQ(record.alive, 0);
        ASSERT_LE(record.seen.size(), all.size());
        ASSERT_TRUE(std::ranges::equal(record.seen, std::span(all).first(record.seen.size())));
        if (!failed || finished->status) {
          // Optional allocations of the runtime, such as a sample of the trace, may fail without harm.
          ASSERT_EQ(finished->status.has_value(), sort != Sort::failing);
          ASSERT_EQ(record.seen, all);
        } else if (sort != Sort::failing) {
          ASSERT_EQ(finished->status.error().kind, ErrorKind::failure);
          ASSERT_TRUE(speaks_of_memory(finished->status.error())) << finished->status.error().message;
        }
      }
      EXPECT_GT(number, 10);
    }
}

class CountingSource final : public SourceFunction {
 public:
  explicit CountingSource(std::uint64_t& calls) : calls_(calls) {}
  Made next(const std::stop_token& /*stop*/, void* place, Emission& /*out*/) override {
    if (calls_++ == items) return {};
    std::construct_at(static_cast<int*>(place), 0);
    return {.item = true, .bytes = sizeof(int)};
  }

 private:
  std::uint64_t& calls_;
};

class Nothing final : public StageFunction {
 public:
  void call(void* /*item*/, Emission& /*out*/) override {}
  bool map(void* /*item*/, void* /*output*/, Emission& /*out*/) override { return true; }
};

// So that `auto` can go on with another plan.
TEST_P(FailedAllocation, while_a_phase_is_set_up_refuses_it_and_calls_nothing) {
  if (GetParam() == Strategy::auto_) GTEST_SKIP() << "has phases of the others";
  pool::PoolTeam team = pool_->team();
  int refused = 0;
  bool failed = true;
  for (std::int64_t number = 0; failed; ++number) {
    std::uint64_t calls = 0;
    Program program;
    program.source_name = "numbers";
    program.source = std::make_unique<CountingSource>(calls);
    program.stages.emplace_back(Stage{.name = "sink",
                                      .kind = Kind::serial_in_order,
                                      .options = {},
                                      .input = item_type<int>(),
                                      .form = StageForm::sink,
                                      .function = std::make_unique<Nothing>(),
                                      .next = 1});
    program.order_stages();
    std::optional<Phase> phase;
    {
      const FailingAllocations failing(number, How::one);
      phase = run_phase(program, team, {.strategy = GetParam(), .threads = 2, .tokens = 4},
                        options(Trace::summary), {});
    }
    failed = has_failed;
    if (phase->refused) {
      ++refused;
      ASSERT_EQ(calls, 0U);
      ASSERT_TRUE(speaks_of_memory(phase->finished.status.error())) << phase->finished.status.error().message;
    } else if (phase->finished.status) {
      ASSERT_EQ(calls, items + 1);
    }
  }
  EXPECT_GE(refused, 3);
}

// Here the functions allocate too, and are more varied.
TEST_P(FailedAllocation, in_random_pipelines_leaves_nothing_behind) {
  pool::PoolTeam team = pool_->team();
  for (std::uint32_t seed = 0; seed < soaked(12); ++seed) {
    const RandomPipeline pipeline(seed);
    const RandomPipeline::Log whole = pipeline.reference();
    bool failed = true;
    for (std::int64_t number = seed % 5; failed; number += 1 + number / 4) {
      RandomPipeline::Record record(pipeline.stage_count());
      auto stream = pipeline.build(record, {.what = PlannedEvent::What::unforeseen});
      ASSERT_TRUE(stream) << stream.error().message;
      std::optional<Finished> finished;
      {
        const FailingAllocations failing(number, seed % 2 == 0 ? How::one : How::all_from_there_on);
        finished = stream->run(team, options(Trace::off));
      }
      failed = has_failed;
      record.end();
      SCOPED_TRACE(fmt::format("seed {}, allocation {}", seed, number));
      ASSERT_EQ(record.alive, 0);
      ASSERT_EQ(record.overlaps, 0);
      ASSERT_TRUE(failed || finished->status);
      for (std::size_t stage = 0; stage < whole.size(); ++stage) {
        const auto& seen = record.log[stage];
        if (pipeline.kind(stage) == Kind::serial_in_order) {
          ASSERT_LE(seen.size(), whole[stage].size());
          ASSERT_TRUE(std::ranges::equal(seen, std::span(whole[stage]).first(seen.size()))) << stage;
        }
        if (finished->status) {
          ASSERT_EQ(seen.size(), whole[stage].size()) << stage;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(strategies, FailedAllocation, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

}  // namespace
}  // namespace millrace::stream
