#include "millrace/stream/source_gate.h"

#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(SourceGate, has_one_holder) {
  SourceGate gate(4, 100, false);
  EXPECT_TRUE(gate.try_take());
  EXPECT_FALSE(gate.try_take());
  EXPECT_TRUE(gate.reopen());
  EXPECT_TRUE(gate.try_take());
}

TEST(SourceGate, is_shut_at_the_number_of_tokens_and_opened_by_the_next_that_retires) {
  SourceGate gate(2, 100, false);
  ASSERT_TRUE(gate.try_take());
  EXPECT_EQ(gate.issue(1), 0U);
  EXPECT_TRUE(gate.may_issue());
  EXPECT_EQ(gate.issue(1), 1U);
  EXPECT_FALSE(gate.may_issue());
  EXPECT_FALSE(gate.reopen());
  EXPECT_FALSE(gate.try_take());
  EXPECT_TRUE(gate.retire(1).opened);
  EXPECT_FALSE(gate.retire(1).opened);
  EXPECT_TRUE(gate.try_take());
}

TEST(SourceGate, never_has_more_in_flight_than_the_budget_and_one_item) {
  std::mt19937 random(1);
  for (const std::size_t budget : {1U, 100U, 1000U}) {
    SourceGate gate(1000, budget, false);
    std::deque<std::size_t> in_flight;
    std::size_t bytes = 0;
    constexpr std::size_t largest = 300;
    for (int i = 0; i < 2000; ++i) {
      if (gate.try_take()) {
        ASSERT_TRUE(gate.may_issue());
        const std::size_t size = 1 + random() % largest;
        static_cast<void>(gate.issue(size));
        in_flight.push_back(size);
        bytes += size;
        ASSERT_LT(bytes, budget + size);
        EXPECT_EQ(gate.reopen(), bytes < budget);
      } else {
        ASSERT_GE(bytes, budget);
        bytes -= in_flight.front();
        EXPECT_EQ(gate.retire(in_flight.front()).opened, bytes < budget || in_flight.size() == 1);
        in_flight.pop_front();
      }
    }
    EXPECT_LT(gate.peak_bytes(), budget + largest);
  }
}

TEST(SourceGate, tells_when_the_last_item_of_an_ended_source_retires) {
  SourceGate gate(4, 100, false);
  ASSERT_TRUE(gate.try_take());
  static_cast<void>(gate.issue(1));
  static_cast<void>(gate.issue(1));
  EXPECT_FALSE(gate.retire(1).drained);
  EXPECT_FALSE(gate.end());
  EXPECT_TRUE(gate.has_ended());
  EXPECT_TRUE(gate.retire(1).drained);
}

TEST(SourceGate, tells_at_once_when_nothing_is_in_flight_at_the_end) {
  SourceGate gate(4, 100, false);
  ASSERT_TRUE(gate.try_take());
  EXPECT_TRUE(gate.end());
}

// A lost opening would leave both threads waiting for good; the test's time limit notices.
TEST(SourceGate, is_never_left_shut_with_room) {
  constexpr int items = 3000;
  SourceGate gate(2, 1000, false);
  std::atomic<int> waiting = 0;
  std::atomic<bool> drained = false;
  std::jthread consumer([&] {
    while (!drained) {
      int available = waiting.load();
      if (available == 0 || !waiting.compare_exchange_strong(available, available - 1)) {
        std::this_thread::yield();
        continue;
      }
      if (gate.retire(1).drained) drained = true;
    }
  });
  for (int issued = 0; issued < items;) {
    if (!gate.try_take()) {
      std::this_thread::yield();
      continue;
    }
    if (gate.may_issue()) {
      static_cast<void>(gate.issue(1));
      ++waiting;
      ++issued;
    }
    gate.reopen();
  }
  while (!gate.try_take())
    std::this_thread::yield();
  if (gate.end()) drained = true;
  consumer.join();
  EXPECT_EQ(gate.issued(), static_cast<std::uint64_t>(items));
}

}  // namespace
}  // namespace millrace::stream
