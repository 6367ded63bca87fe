#include "millrace/stream/strategy/source_pace.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

// Simulates items that take a given time, and counts those taken while the source was kept.
class Worker {
 public:
  void work(int items, std::int64_t item_ns) {
    while (items > 0) {
      const int burst = pace_.next_burst([this] { return now_ns_; });
      for (int i = 0; i < burst && items > 0; ++i, --items) {
        now_ns_ += item_ns;
        if (burst > 1) ++kept_;
      }
    }
  }
  void interrupt() { pace_.interrupt(); }
  // Since the last call.
  int kept() { return std::exchange(kept_, 0); }

 private:
  SourcePace pace_;
  std::int64_t now_ns_ = 1;
  int kept_ = 0;
};

TEST(SourcePace, keeps_the_source_for_short_items) {
  Worker worker;
  worker.work(100, 50);
  worker.kept();
  worker.work(1000, 50);
  EXPECT_GT(worker.kept(), 950);
}

TEST(SourcePace, shares_the_source_for_long_items) {
  Worker worker;
  worker.work(1000, 5000);
  EXPECT_EQ(worker.kept(), 0);
}

TEST(SourcePace, shares_again_after_the_first_burst_of_items_that_became_long) {
  Worker worker;
  worker.work(1000, 50);
  worker.kept();
  worker.work(1000, 5000);
  EXPECT_LE(worker.kept(), 64);
}

TEST(SourcePace, gives_up_on_items_that_are_short_but_for_some) {
  Worker worker;
  const auto mixed = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      worker.work(300, 50);
      worker.work(1, 10'000'000);
    }
    return worker.kept();
  };
  const int at_first = mixed(10);
  mixed(3000);
  EXPECT_GT(at_first, 10 * mixed(10));
}

TEST(SourcePace, does_not_count_what_others_made_it_wait_for) {
  Worker worker;
  for (int i = 0; i < 100; ++i) {
    worker.work(15, 50);
    worker.interrupt();
  }
  EXPECT_EQ(worker.kept(), 0);
}

}  // namespace
}  // namespace millrace::stream
