#include "millrace/placement/run/wake_ups.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::placement {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t slice_ns = 3'000'000;

TEST(WakeUps, ThatStopOthersAreWhatBatchSpares) {
  const std::string text =
      explain_wake_ups(WakeUps{2, 20000, 12000}, WakeUps{10, 50000, 1000}, "class batch", slice_ns);
  EXPECT_EQ(text, "in a second of CPU time threads wait 10000 times and are stopped 6000 times, most for "
                  "others that wake, "
                  "which class batch spares them; 100 times under class batch");
}

TEST(WakeUps, ThatStopNobodyLeaveBatchNothingToSpare) {
  EXPECT_THAT(explain_wake_ups(WakeUps{2, 20000, 600}, std::nullopt, "", slice_ns),
              AllOf(HasSubstr("stopped 300 times"), HasSubstr("ends of slices explain up to 333"),
                    HasSubstr("has little to spare")));
}

TEST(WakeUps, OfAProgramThatHardlyRanSayNothing) {
  EXPECT_EQ(explain_wake_ups(std::nullopt, std::nullopt, "", slice_ns), "");
  EXPECT_EQ(explain_wake_ups(WakeUps{0.001, 5, 5}, std::nullopt, "", slice_ns), "");
  EXPECT_THAT(explain_wake_ups(std::nullopt, WakeUps{1, 5, 70}, "class batch", slice_ns),
              AllOf(HasSubstr("stopped 70 times under class batch"), Not(HasSubstr("spares"))));
}

// This thread's waits and preemptions, from another kernel interface.
rusage switches_by_now() {
  rusage now{};
  getrusage(RUSAGE_THREAD, &now);
  return now;
}

TEST(WakeUpLook, CountsWhatTheKernelCounts) {
  const rusage before = switches_by_now();
  const WakeUpLook look({gettid(), 4194304}, 1'000'000'000);
  const rusage begun = switches_by_now();
  for (int i = 0; i < 50; ++i)
    usleep(100);
  const rusage ended = switches_by_now();
  const WakeUps found = look.until_now(3'000'000'000);
  const rusage after = switches_by_now();
  EXPECT_DOUBLE_EQ(found.run_seconds, 2);
  // A timer may expire before its thread waits, so the exact number is not known.
  ASSERT_GT(ended.ru_nvcsw, begun.ru_nvcsw);
  EXPECT_GE(found.voluntary, ended.ru_nvcsw - begun.ru_nvcsw);
  EXPECT_LE(found.voluntary, after.ru_nvcsw - before.ru_nvcsw);
  EXPECT_GE(found.involuntary, ended.ru_nivcsw - begun.ru_nivcsw);
  EXPECT_LE(found.involuntary, after.ru_nivcsw - before.ru_nivcsw);
}

}  // namespace
}  // namespace millrace::placement
