#include "millrace/stream/order/source_gate.h"

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

// A lost opening would leave both threads waiting forever. The test's timeout detects it.
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

TEST(SourceGate, that_is_kept_goes_to_who_keeps_it_or_to_who_takes_it_over) {
  SourceGate gate(4, 100, false);
  EXPECT_FALSE(gate.take_over());
  ASSERT_TRUE(gate.try_take());
  gate.keep(true);
  EXPECT_TRUE(gate.is_kept());
  EXPECT_FALSE(gate.is_open());
  EXPECT_FALSE(gate.try_take());
  ASSERT_TRUE(gate.take_again());
  EXPECT_TRUE(gate.is_kept());
  EXPECT_FALSE(gate.take_over());  // while it is called
  gate.keep(false);
  EXPECT_TRUE(gate.take_over());
  EXPECT_FALSE(gate.is_kept());
  EXPECT_FALSE(gate.take_again());
  EXPECT_TRUE(gate.reopen());
  EXPECT_FALSE(gate.take_again());
}

TEST(SourceGate, counts_a_replaced_item_as_gone) {
  for (const bool alone : {false, true}) {
    SourceGate gate(2, 100, alone);
    ASSERT_TRUE(gate.try_take());
    EXPECT_EQ(gate.issue(70), 0U);
    EXPECT_EQ(gate.issue(20), 1U);
    EXPECT_FALSE(gate.may_issue());
    gate.replace(70);
    EXPECT_TRUE(gate.may_issue());
    EXPECT_EQ(gate.issue(80), 2U);
    EXPECT_EQ(gate.issued(), 3U);
    EXPECT_FALSE(gate.reopen());
    EXPECT_TRUE(gate.retire(20).opened);
    ASSERT_TRUE(gate.try_take());
    EXPECT_FALSE(gate.end());
    EXPECT_TRUE(gate.retire(80).drained);
    EXPECT_EQ(gate.peak_bytes(), 100U);
  }
}

TEST(SourceGate, knows_how_many_items_of_one_size_it_lets_through) {
  for (const std::uint64_t tokens : {1U, 3U, 50U})
    for (const std::size_t budget : {1U, 8U, 99U, 100U, 101U})
      for (const std::size_t bytes : {0U, 1U, 7U, 8U, 100U, 1000U}) {
        SourceGate gate(tokens, budget, false);
        ASSERT_TRUE(gate.try_take());
        std::uint64_t count = 0;
        for (; gate.may_issue(); ++count)
          static_cast<void>(gate.issue(bytes));
        EXPECT_EQ(gate.most_items_of(bytes), count) << tokens << ' ' << budget << ' ' << bytes;
      }
}

}  // namespace
}  // namespace millrace::stream
