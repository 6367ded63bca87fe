// Runs of pack and unpack: deterministic output, bounded memory, and prompt ends.
#include "dedup/chunks/dedup_testing.h"
#include "dedup/run/pack.h"
#include "dedup/run/unpack.h"
#include "millrace/pool/serial_team.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

class Runs : public testing::TestWithParam<stream::Strategy> {
 protected:
  void SetUp() override { stream::skip_what_the_sanitizer_cannot_watch(GetParam()); }

  stream::Watchdog watchdog_{testing::UnitTest::GetInstance()->current_test_info()->name()};
};

// Several fragments of 2 MiB, with repetitions at long and short distances.
Bytes large_stream() {
  const Bytes part = random_bytes(1'500'000, 1);
  const Bytes text = text_bytes(2'500'000, 2);
  return joined({part, text, part, Bytes(500'000), text_bytes(2'000'000, 3), text, part});
}

#ifdef MILLRACE_SANITIZED
constexpr bool every_pair = false;  // of threads and limits; testing each once is enough to overrun
#else
constexpr bool every_pair = true;
#endif

TEST_P(Runs, write_the_same_archive_with_any_threads_tokens_and_budget) {
  const Bytes stream = large_stream();
  MemoryFile expected;
  {
    PiecewiseSource source(stream);
    pool::SerialTeam team;
    ASSERT_TRUE(pack(source, expected, team, {.chunks = small_chunks()}).status);
  }
  auto pool = pool::WorkerPool::create(4);
  ASSERT_TRUE(pool);
  auto team = (*pool)->team();
  for (const int threads : {1, 2, 4})
    for (const auto& [tokens, budget] : {std::pair(0, 128 << 20), std::pair(1, 1), std::pair(3, 9 << 20)}) {
      if (!every_pair && threads != tokens + 1) continue;
      const stream::RunOptions run{.strategy = GetParam(),
                                   .threads = threads,
                                   .tokens = tokens,
                                   .byte_budget = static_cast<std::size_t>(budget)};
      SCOPED_TRACE(fmt::format("{} threads, {} tokens, {} bytes", threads, tokens, budget));
      PiecewiseSource source(stream, 300'000);
      MemoryFile archive;
      const PackOutcome packed = pack(
          source, archive, team,
          {.chunks = small_chunks(), .run = run, .source_waits = threads == 2, .sink_waits = tokens == 3});
      ASSERT_TRUE(packed.status) << packed.status.error().message;
      EXPECT_TRUE(archive.bytes == expected.bytes);
      EXPECT_GT(packed.dedup.known_bytes, 4'000'000U);

      PiecewiseSource back(archive.bytes, 100'000);
      MemoryFile restored;
      const UnpackOutcome outcome =
          unpack(back, restored, team, {.archive = &archive, .run = run, .sink_waits = threads == 2});
      ASSERT_TRUE(outcome.status) << outcome.status.error().message;
      EXPECT_TRUE(restored.bytes == stream);
    }
}

// Several threads write records to their positions. The bytes equal those of a sink written in order.
TEST_P(Runs, write_the_same_archive_by_several_writers) {
  const Bytes stream = large_stream();
  MemoryFile expected;
  {
    PiecewiseSource source(stream);
    pool::SerialTeam team;
    ASSERT_TRUE(pack(source, expected, team, {.chunks = small_chunks()}).status);
  }
  auto pool = pool::WorkerPool::create(2);
  ASSERT_TRUE(pool);
  auto team = (*pool)->team();
  for (const int writers : {1, 4}) {
    std::mutex mutex;
    Bytes written;
    std::size_t room = SIZE_MAX;
    const auto write_at = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Status {
      const std::lock_guard lock(mutex);
      if (offset + bytes.size() > room) return failure("no space left");
      if (written.size() < offset + bytes.size()) written.resize(offset + bytes.size());
      std::ranges::copy(bytes, written.begin() + static_cast<std::ptrdiff_t>(offset));
      return {};
    };
    for (const bool full : {false, true}) {
      written.clear();
      room = full ? expected.bytes.size() / 2 : SIZE_MAX;
      PiecewiseSource source(stream, 300'000);
      MemoryFile untouched;
      const PackOutcome packed = pack(source, untouched, team,
                                      {.chunks = small_chunks(),
                                       .run = {.strategy = GetParam()},
                                       .writers = writers,
                                       .write_at = write_at});
      EXPECT_TRUE(untouched.bytes.empty());
      if (full) {
        ASSERT_FALSE(packed.status);
        EXPECT_EQ(packed.status.error().message, "no space left");
        continue;
      }
      ASSERT_TRUE(packed.status) << packed.status.error().message;
      EXPECT_TRUE(written == expected.bytes);
      EXPECT_EQ(packed.archive_bytes, expected.bytes.size());
    }
  }
}

class FullDisk final : public ByteSink {
 public:
  explicit FullDisk(std::size_t room) : room_(room) {}
  Status write(std::span<const std::byte> bytes) override {
    if (bytes.size() > room_) return failure("no space left");
    room_ -= bytes.size();
    return {};
  }

 private:
  std::size_t room_;
};

TEST_P(Runs, end_with_the_error_of_a_sink_that_is_full) {
  const Bytes stream = random_bytes(7'000'000, 1);
  auto pool = pool::WorkerPool::create(2);
  auto team = (*pool)->team();
  for (const std::size_t room : {0U, 100U, 3'000'000U, 7'000'100U}) {
    PiecewiseSource source(stream);
    FullDisk disk(room);
    const PackOutcome outcome =
        pack(source, disk, team, {.chunks = small_chunks(), .run = {.strategy = GetParam()}});
    ASSERT_FALSE(outcome.status) << room;
    EXPECT_EQ(outcome.status.error().message, "no space left") << room;
  }
}

TEST_P(Runs, end_when_asked_to) {
  // An endless source.
  class Endless final : public ByteSource {
   public:
    explicit Endless(std::stop_source& stop) : stop_(stop) {}
    Result<std::size_t> read(std::span<std::byte> destination) override {
      if (++reads_ == 20) stop_.request_stop();
      std::ranges::fill(destination, static_cast<std::byte>(reads_));
      return destination.size();
    }
    const std::string& name() const override { return name_; }

   private:
    std::stop_source& stop_;
    int reads_ = 0;
    std::string name_ = "endless";
  };
  std::stop_source stop;
  Endless source(stop);
  MemoryFile archive;
  auto pool = pool::WorkerPool::create(2);
  auto team = (*pool)->team();
  const PackOutcome outcome =
      pack(source, archive, team,
           {.chunks = small_chunks(), .run = {.strategy = GetParam(), .stop = stop.get_token()}});
  ASSERT_FALSE(outcome.status);
  EXPECT_EQ(outcome.status.error().kind, ErrorKind::interrupted);
}

TEST_P(Runs, hold_no_more_than_the_budget_and_one_fragment) {
  const Bytes stream = random_bytes(40'000'000, 1);
  constexpr std::size_t budget = 10'000'000;
  auto pool = pool::WorkerPool::create(2);
  auto team = (*pool)->team();
  PiecewiseSource source(stream);
  MemoryFile archive;
  const PackOutcome outcome =
      pack(source, archive, team,
           {.chunks = small_chunks(), .run = {.strategy = GetParam(), .byte_budget = budget}});
  ASSERT_TRUE(outcome.status);
  EXPECT_LT(outcome.run.peak_bytes, budget + (std::size_t{9} << 20));
}

INSTANTIATE_TEST_SUITE_P(strategies, Runs, testing::ValuesIn(stream::all_strategies()),
                         [](const auto& test) { return std::string(stream::strategy_name(test.param)); });

}  // namespace
}  // namespace millrace::dedup
