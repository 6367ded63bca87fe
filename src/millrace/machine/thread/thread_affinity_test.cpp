#include "millrace/machine/thread/refused_calls_testing.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <future>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::machine {
namespace {

CpuSet allowed() { return current_thread_affinity().value(); }

TEST(ThreadAffinity, ThreadMayRunSomewhere) { EXPECT_FALSE(allowed().empty()); }

TEST(ThreadAffinity, BindingToEachAllowedCpuIsGrantedAndTakesEffect) {
  const AffinityGuard guard;
  for (const int cpu : *guard.saved()) {
    const auto granted = bind_current_thread({cpu});
    ASSERT_TRUE(granted) << granted.error().message;
    EXPECT_EQ(*granted, CpuSet{cpu});
    EXPECT_EQ(sched_getcpu(), cpu);
  }
}

TEST(ThreadAffinity, ReportsWhatWasGrantedNotWhatWasAsked) {
  const AffinityGuard guard;
  const CpuSet before = allowed();
  CpuSet asked = before;
  asked.insert(CpuSet::limit - 1);  // exists on no machine
  EXPECT_EQ(bind_current_thread(asked), before);
}

TEST(ThreadAffinity, RefusesAnEmptySetAndAbsentCpusAndKeepsTheMask) {
  const CpuSet before = allowed();
  for (const CpuSet& impossible : {CpuSet(), CpuSet{CpuSet::limit - 1}}) {
    const auto granted = bind_current_thread(impossible);
    ASSERT_FALSE(granted);
    EXPECT_EQ(granted.error().kind, ErrorKind::usage);
    EXPECT_EQ(allowed(), before);
  }
}

TEST(ThreadAffinity, AThreadIsBoundUntilItIsJoinedWhateverItDoes) {
  const CpuSet before = allowed();
  std::promise<void> done;
  std::promise<void> looked;
  std::optional<CpuSet> seen;
  std::thread other([&] {
    done.get_future().wait();
    seen = allowed();
    looked.set_value();
  });
  bind_unjoined_thread(other.native_handle(), before.first(1));
  bind_unjoined_thread(other.native_handle(), CpuSet{CpuSet::limit - 1});  // refused; the mask stays
  done.set_value();
  looked.get_future().wait();
  // The thread may have ended by now.
  for (int i = 0; i < 100; ++i)
    bind_unjoined_thread(other.native_handle(), before);
  other.join();
  EXPECT_EQ(seen, before.first(1));
  EXPECT_EQ(allowed(), before);
}

TEST(ThreadAffinity, AnotherThreadIsBoundByItsNumber) {
  const CpuSet before = allowed();
  std::promise<pid_t> number;
  std::promise<void> done;
  std::jthread other([&] {
    number.set_value(gettid());
    done.get_future().wait();
  });
  const pid_t thread = number.get_future().get();
  EXPECT_EQ(bind_thread(thread, before.first(1)), before.first(1));
  EXPECT_EQ(thread_affinity(thread), before.first(1));
  EXPECT_EQ(allowed(), before);
  done.set_value();
}

TEST(ThreadAffinity, IsReadFromProcWhereTheCallIsRefused) {
  const AffinityGuard guard;
  for (const CpuSet& mask : {allowed(), allowed().first(1)}) {
    ASSERT_TRUE(bind_current_thread(mask));
    expect_where_refused({SYS_sched_getaffinity}, [&] {
      EXPECT_EQ(current_thread_affinity(), mask);
      EXPECT_EQ(thread_affinity(gettid()), mask);
    });
  }
}

TEST(ThreadAffinity, ARefusedBindingIsAFailureThatSaysWhyAndKeepsTheMask) {
  const CpuSet before = allowed();
  expect_where_refused({SYS_sched_setaffinity}, [&] {
    const AffinityGuard guard;
    const auto granted = bind_current_thread(before);
    ASSERT_FALSE(granted);
    EXPECT_EQ(granted.error().kind, ErrorKind::failure);
    EXPECT_NE(granted.error().message.find("not permitted"), std::string::npos) << granted.error().message;
    EXPECT_EQ(allowed(), before);
  });
}

TEST(ThreadAffinity, SaysThatAThreadIsGone) {
  constexpr pid_t nobody = 1 << 24;  // thread IDs are below 2^22
  EXPECT_FALSE(thread_affinity(nobody));
  const auto bound = bind_thread(nobody, allowed());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().kind, ErrorKind::ended);
}

TEST(AffinityGuard, RestoresTheMaskAtTheEndOfItsScope) {
  const CpuSet before = allowed();
  {
    const AffinityGuard guard;
    ASSERT_TRUE(bind_current_thread(before.first(1)));
    EXPECT_EQ(allowed(), before.first(1));
  }
  EXPECT_EQ(allowed(), before);
}

TEST(AffinityGuard, ConcernsItsOwnThreadOnly) {
  const CpuSet before = allowed();
  std::jthread([&] { EXPECT_TRUE(bind_current_thread(before.first(1))); }).join();
  EXPECT_EQ(allowed(), before);
}

}  // namespace
}  // namespace millrace::machine
