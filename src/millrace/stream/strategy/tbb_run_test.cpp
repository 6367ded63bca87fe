#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/strategies_testing.h"

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <sys/wait.h>

namespace millrace::stream {
namespace {

// Runs a stream in a process in which oneTBB gets no threads, because it requests impossibly large stacks.
// Exits with 0 if the run was complete, and with 3 if it failed with a message.
[[noreturn]] void run_without_threads(bool sized) {
  const tbb::global_control stacks(tbb::global_control::thread_stack_size, std::size_t{1} << 46);
  const auto pool = pool::WorkerPool::create(2);
  auto team = (*pool)->team();
  int next = 0;
  int sum = 0;
  SourceOptions<int> options;
  if (sized) options.bytes = [](const int&) { return std::size_t{1}; };
  const auto count = [&]() -> std::optional<int> {
    return next < 1000 ? std::optional(next++) : std::nullopt;
  };
  auto stream = source("count", count, std::move(options))
                    .stage(Kind::parallel, "double", [](int item) { return 2 * item; })
                    .sink(Kind::serial_in_order, "sum", [&](int item) { sum += item; });
  const Finished finished = stream->run(team, {.strategy = Strategy::tbb, .threads = 2});
  if (finished.status) std::_Exit(sum == 999000 ? 0 : 1);
  std::_Exit(finished.status.error().message.empty() ? 2 : 3);
}

class TbbRun : public testing::TestWithParam<bool> {};

TEST_P(TbbRun, FailsOrGoesOnWhereTheSystemRefusesThreads) {
  skip_what_the_sanitizer_cannot_watch(Strategy::tbb);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ended = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
  };
  EXPECT_EXIT(run_without_threads(GetParam()), ended, "");
}

INSTANTIATE_TEST_SUITE_P(Sources, TbbRun, testing::Bool(),
                         [](const auto& test) { return test.param ? "sized" : "unsized"; });

}  // namespace
}  // namespace millrace::stream
