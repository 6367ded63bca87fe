#include "millrace/machine/thread/scheduling_attributes.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::machine {
namespace {

// Runs `body` on a new thread whose attributes may change freely; class other if permitted.
void on_fair_thread(const std::function<void()>& body) {
  bool fair = false;
  std::thread([&] {
    fair = change_scheduling(0, {.scheduling_class = SchedulingClass::other, .slice_ns = 0}).has_value();
    if (fair) body();
  }).join();
  if (!fair) GTEST_SKIP() << "not permitted to leave class idle";
}

TEST(SchedulingAttributes, NamesOfClassesAreReadBack) {
  for (const auto scheduling_class : {SchedulingClass::other, SchedulingClass::batch, SchedulingClass::idle,
                                      SchedulingClass::fifo, SchedulingClass::rr})
    EXPECT_EQ(parse_scheduling_class(name_of(scheduling_class)), scheduling_class);
  for (const auto* name : {"", "OTHER", "deadline", "unknown", "batch "})
    EXPECT_EQ(parse_scheduling_class(name), std::nullopt) << name;
}

TEST(SchedulingAttributes, BatchIsGrantedAndGivenBack) {
  on_fair_thread([] {
    const auto before = scheduling_attributes(0);
    ASSERT_TRUE(before);
    const auto batch = change_scheduling(0, {.scheduling_class = SchedulingClass::batch});
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ(batch->scheduling_class, SchedulingClass::batch);
    EXPECT_EQ(batch->nice, before->nice);
    EXPECT_EQ(change_scheduling(0, {.scheduling_class = SchedulingClass::other}), *before);
  });
}

TEST(SchedulingAttributes, SliceIsClampedReportedAndTakenBack) {
  if (default_slice_ns() == 0) GTEST_SKIP() << "this kernel has no slice for each thread";
  on_fair_thread([] {
    constexpr std::int64_t ms = 1'000'000;
    EXPECT_EQ(change_scheduling(0, {.slice_ns = 3 * ms})->slice_ns, 3 * ms);
    EXPECT_EQ(change_scheduling(0, {.slice_ns = 1})->slice_ns, shortest_slice_ns);
    EXPECT_EQ(change_scheduling(0, {.slice_ns = 5000 * ms})->slice_ns, longest_slice_ns);
    EXPECT_EQ(change_scheduling(0, {.slice_ns = 0})->slice_ns, default_slice_ns());
  });
}

TEST(SchedulingAttributes, SliceOutlivesAChangeOfClass) {
  if (default_slice_ns() == 0) GTEST_SKIP() << "this kernel has no slice for each thread";
  on_fair_thread([] {
    ASSERT_TRUE(change_scheduling(0, {.slice_ns = 7'000'000}));
    EXPECT_EQ(change_scheduling(0, {.scheduling_class = SchedulingClass::batch})->slice_ns, 7'000'000);
    EXPECT_EQ(change_scheduling(0, {.scheduling_class = SchedulingClass::other})->slice_ns, 7'000'000);
  });
}

TEST(SchedulingAttributes, NiceValueIsKeptByEveryChange) {
  on_fair_thread([] {
    const int nice = scheduling_attributes(0)->nice + 3;
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);  // on Linux, only this thread
    for (const auto& change : {SchedulingChange{.scheduling_class = SchedulingClass::batch},
                               SchedulingChange{.scheduling_class = SchedulingClass::other}})
      EXPECT_EQ(change_scheduling(0, change)->nice, std::min(nice, 19));
  });
}

TEST(SchedulingAttributes, NiceValueOutlivesEveryRealTimeClass) {
  on_fair_thread([] {
    const int nice = std::min(scheduling_attributes(0)->nice + 7, 19);
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);  // on Linux, only this thread
    for (const auto realtime : {SchedulingClass::rr, SchedulingClass::fifo})
      for (const auto fair : {SchedulingClass::other, SchedulingClass::batch}) {
        const auto granted = change_scheduling(0, {.scheduling_class = realtime});
        if (!granted) GTEST_SKIP() << granted.error().message;
        EXPECT_EQ(granted->nice, nice) << name_of(realtime);
        EXPECT_EQ(change_scheduling(0, {.scheduling_class = fair})->nice, nice) << name_of(fair);
      }
  });
}

TEST(SchedulingAttributes, RealTimeIsGrantedOrRefusedByName) {
  on_fair_thread([] {
    const auto granted = change_scheduling(0, {.scheduling_class = SchedulingClass::rr});
    if (granted) {
      EXPECT_EQ(granted->scheduling_class, SchedulingClass::rr);
      EXPECT_EQ(granted->priority, 1);
      EXPECT_EQ(granted->slice_ns, 0);
      EXPECT_EQ(change_scheduling(0, {.scheduling_class = SchedulingClass::other})->scheduling_class,
                SchedulingClass::other);
    } else {
      EXPECT_EQ(granted.error().kind, ErrorKind::usage);
      EXPECT_NE(granted.error().message.find("RLIMIT_RTPRIO"), std::string::npos);
      EXPECT_EQ(scheduling_attributes(0)->scheduling_class, SchedulingClass::other);
    }
  });
}

TEST(SchedulingAttributes, RefusesASliceForAClassThatHasNone) {
  const auto refused = change_scheduling(0, {.scheduling_class = SchedulingClass::rr, .slice_ns = 3'000'000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
}

TEST(SchedulingAttributes, SaysThatAThreadIsGone) {
  // Thread IDs are below 2^22.
  constexpr pid_t nobody = 1 << 24;
  EXPECT_FALSE(scheduling_attributes(nobody));
  EXPECT_FALSE(change_scheduling(nobody, {.scheduling_class = SchedulingClass::batch}));
}

}  // namespace
}  // namespace millrace::machine
