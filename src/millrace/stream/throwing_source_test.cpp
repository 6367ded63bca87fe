// Sources that fail in every way and place. Compiled like user programs (see CMakeLists.txt).
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

enum class Failure { exception, foreign_exception, no_memory, error, size_exception };
enum class Shape { sink_alone, mapped, emitting };

struct Case {
  int at = 0;  // items made before the failure
  Failure failure = Failure::exception;
  bool sized = false;
  bool blocking = false;
  Shape shape = Shape::mapped;
  int threads = 1;
  Trace trace = Trace::off;
};

std::string describe(const Case& one) {
  return fmt::format("at {}, failure {}, sized {}, blocking {}, shape {}, {} threads, trace {}", one.at,
                     static_cast<int>(one.failure), one.sized, one.blocking, static_cast<int>(one.shape),
                     one.threads, static_cast<int>(one.trace));
}

// A distinctive text that does not fit into the string's internal buffer.
std::string item_text(int number) { return fmt::format("the item of the source with number {}", number); }

// The sink's items. Items that the source did not make have already failed the test.
struct Seen {
  std::vector<int> numbers;
  std::atomic<int> spoilt = 0;
  void note(const std::string& item, int parts) {
    const int number = static_cast<int>(numbers.size()) / parts;
    if (item != item_text(number)) ++spoilt;
    numbers.push_back(number);
  }
};

class ThrowingSource : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }

  void check(const Case& one) {
    SCOPED_TRACE(describe(one));
    int next = 0;
    int failures = 0;
    SourceOptions<std::string> options{.blocking = one.blocking};
    if (one.sized)
      options.bytes = [&](const std::string& item) {
        if (one.failure == Failure::size_exception && item == item_text(one.at)) {
          ++failures;
          throw std::runtime_error("disk gone");
        }
        return item.size();
      };
    Seen seen;
    const int parts = one.shape == Shape::emitting ? 2 : 1;
    const Finished finished = [&] {
      auto flow = source(
          "make",
          [&]() -> Result<std::optional<std::string>> {
            if (next != one.at || one.failure == Failure::size_exception) {
              if (next > one.at) return std::nullopt;
              return item_text(next++);
            }
            // Ends if it is called again and again.
            if (++failures > 3) return std::nullopt;
            if (one.failure == Failure::exception) throw std::runtime_error("disk gone");
            if (one.failure == Failure::foreign_exception) throw 42;
            if (one.failure == Failure::no_memory) throw std::bad_alloc();
            return failure("disk gone");
          },
          options);
      const auto sink = [&](const std::string& item) { seen.note(item, parts); };
      auto stream = [&]() -> Result<Stream> {
        switch (one.shape) {
        case Shape::sink_alone:
          return std::move(flow).sink(Kind::serial_in_order, "see", sink);
        case Shape::mapped:
          return std::move(flow)
              .stage(Kind::parallel, "pass", [](std::string item) { return item; })
              .sink(Kind::serial_in_order, "see", sink);
        case Shape::emitting:
          break;
        }
        return std::move(flow)
            .stage<std::string>(Kind::parallel, "twice",
                                [](const std::string& item, Output<std::string>& out) {
                                  out.emit(item);
                                  out.emit(item);
                                })
            .sink(Kind::serial_in_order, "see", sink);
      }();
      pool::PoolTeam team = pool_->team();
      return stream->run(team, {.strategy = GetParam(), .threads = one.threads, .trace = one.trace});
    }();
    EXPECT_EQ(failures, 1);
    EXPECT_EQ(seen.spoilt, 0);
    ASSERT_EQ(seen.numbers.size(), static_cast<std::size_t>(one.at * parts));
    ASSERT_FALSE(finished.status);
    EXPECT_EQ(finished.status.error().kind, ErrorKind::failure);
    EXPECT_EQ(finished.status.error().message,
              fmt::format("source 'make' failed at item {}: {}", one.at,
                          one.failure == Failure::foreign_exception ? "an exception of unknown type"
                          : one.failure == Failure::no_memory       ? "out of memory"
                                                                    : "disk gone"));
  }

  Watchdog watchdog_{testing::UnitTest::GetInstance()->current_test_info()->name()};
  std::unique_ptr<pool::WorkerPool> pool_ = std::move(*pool::WorkerPool::create(4));
};

TEST_P(ThrowingSource, ends_the_stream_behind_what_it_made) {
  for (const int at : {0, 1, 2, 70})
    for (const Failure failure : {Failure::exception, Failure::foreign_exception, Failure::no_memory,
                                  Failure::error, Failure::size_exception})
      for (const Shape shape : {Shape::sink_alone, Shape::mapped, Shape::emitting})
        for (const bool blocking : {false, true})
          for (const int threads : {1, 4})
            for (const Trace trace : {Trace::off, Trace::events}) {
              const bool sized = failure == Failure::size_exception || (at + threads) % 2 == 0;
              check({at, failure, sized, blocking, shape, threads, trace});
              if (HasFatalFailure()) return;
            }
}

// Late in the stream, when a worker keeps the source and `auto` has changed its plan.
TEST_P(ThrowingSource, ends_a_long_stream_behind_what_it_made) {
  for (const int threads : {1, 4})
    for (const bool sized : {false, true})
      check({.at = 20'000, .sized = sized, .threads = threads});
}

INSTANTIATE_TEST_SUITE_P(strategies, ThrowingSource, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

}  // namespace
}  // namespace millrace::stream
