#include "millrace/tuning/record/decision_record.h"

#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

TEST(DecisionRecord, KeepsTheLastEventsAndCountsThoseBefore) {
  for (int length : {1, 2, 7}) {
    DecisionRecord record(length);
    for (int added = 0; added < 3 * length; ++added) {
      const auto events = record.events();
      ASSERT_EQ(std::ssize(events), std::min(added, length));
      EXPECT_EQ(record.left_out(), std::max(0, added - length));
      for (int i = 0; i < std::ssize(events); ++i)
        EXPECT_EQ(events[static_cast<std::size_t>(i)].candidate, record.left_out() + i);
      record.add({.kind = added % 2 == 0 ? EventKind::trial : EventKind::drift, .candidate = added});
    }
    EXPECT_EQ(record.count(EventKind::trial) + record.count(EventKind::drift), 3 * length);
  }
}

}  // namespace
}  // namespace millrace::tuning
