#include "millrace/stream/strategy/keeper_watch.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Watches a source whose items take a given time.
class Watched {
 public:
  Watched() { watch_.begin(0, 0); }
  // Checks until `until`. Returns how long it had waited when it first found the items slow, or -1.
  std::int64_t watch(std::int64_t until, std::int64_t item_ns) {
    const std::int64_t begun = now_;
    std::int64_t found = -1;
    while (now_ < until) {
      const std::int64_t patience = watch_.patience();
      now_ += patience;
      worked_ += patience;
      issued_ += static_cast<std::uint64_t>(worked_ / item_ns);
      worked_ %= item_ns;
      ++looks_;
      if (watch_.finds_it_slow(now_, issued_) && found < 0) found = now_ - begun;
    }
    return found;
  }
  int looks() const { return looks_; }

 private:
  KeeperWatch watch_;
  std::int64_t now_ = 0;
  std::int64_t worked_ = 0;
  std::uint64_t issued_ = 0;
  int looks_ = 0;
};

TEST(KeeperWatch, lets_short_items_be_and_looks_ever_more_seldom) {
  Watched watched;
  EXPECT_EQ(watched.watch(10'000 * ms, 50), -1);
  EXPECT_LT(watched.looks(), 11'000);
}

TEST(KeeperWatch, finds_a_long_item_soon_after_the_short_ones_and_later_within_two_milliseconds) {
  for (const std::int64_t good : {1 * ms, 3 * ms, 20 * ms, 5000 * ms}) {
    Watched watched;
    ASSERT_EQ(watched.watch(good, 50), -1);
    const std::int64_t found = watched.watch(good + 100 * ms, 100 * ms);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, std::max(200'000L, std::min(good / 8, 2 * ms)));
  }
}

TEST(KeeperWatch, finds_items_slow_that_are_merely_worth_sharing) {
  Watched watched;
  EXPECT_EQ(watched.watch(ms, 400), -1);
  EXPECT_GT(watched.watch(10 * ms, 700), 0);
}

// A source that waits for hours cannot be taken over.
TEST(KeeperWatch, disturbs_a_waiting_source_once_a_second_at_most) {
  Watched watched;
  watched.watch(ms, 50);
  watched.watch(100'000 * ms, 1'000'000 * ms);
  EXPECT_LT(watched.looks(), 400);
  const int before = watched.looks();
  watched.watch(110'000 * ms, 1'000'000 * ms);
  EXPECT_LE(watched.looks() - before, 11);
}

}  // namespace
}  // namespace millrace::stream
