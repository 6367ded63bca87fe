#include "millrace/model/contention/contention.h"
#include "millrace/model/contention/contention_testing.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::model {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

SharedMachine one_core(int pus) {
  return {.pus = pus, .levels = {level_of("core", pus, pus, smt_siblings())}};
}

TEST(Contention, OfLikeKindsIsTheMatrixAndOfUnlikeKindsNothing) {
  const std::vector<ContendingThread> alike{thread_of(SharedUnit::fp), thread_of(SharedUnit::fp)};
  EXPECT_THAT(slowdowns_of(one_core(2), alike, {0, 1}), Each(DoubleNear(1.9, 1e-12)));
  const std::vector<ContendingThread> unlike{thread_of(SharedUnit::fp), thread_of(SharedUnit::integer)};
  EXPECT_THAT(slowdowns_of(one_core(2), unlike, {0, 1}), Each(DoubleEq(1)));
}

// Worked out by hand: 0.5 of the time on L2, next to a thread that spends 0.25 of its time in memory and runs
// half of the time.
TEST(Contention, IsWeightedWithTheSharesOfBothAndWithHowBusyTheOtherIs) {
  ContendingThread thread;
  thread.demand[SharedUnit::l2] = 0.5;
  thread.demand[SharedUnit::integer] = 0.5;
  ContendingThread other;
  other.demand[SharedUnit::dram] = 0.25;
  other.demand[SharedUnit::fp] = 0.75;
  other.busy = 0.5;
  const auto slowdowns = slowdowns_of(one_core(2), std::vector{thread, other}, {0, 1});
  EXPECT_THAT(slowdowns, ElementsAre(DoubleNear(1 + 0.5 * 0.5 * 0.25 * 2.2, 1e-12), DoubleEq(1)));
}

TEST(Contention, GrowsByTheSameWithEveryPartner) {
  const std::vector<ContendingThread> threads(4, thread_of(SharedUnit::integer));
  EXPECT_THAT(slowdowns_of(one_core(4), threads, {0, 1, 2, 3}), Each(DoubleNear(1 + 3 * 0.4, 1e-12)));
}

TEST(Contention, OfSeveralLevelsMultiplies) {
  SharedMachine machine = one_core(2);
  machine.levels.push_back(level_of("cache", 2, 2, smt_siblings()));
  const std::vector<ContendingThread> threads(2, thread_of(SharedUnit::l2));
  EXPECT_THAT(slowdowns_of(machine, threads, {0, 1}), Each(DoubleNear(2.5 * 2.5, 1e-12)));
}

TEST(Contention, IsNoneBetweenThreadsThatTakeTurnsOnOnePu) {
  const std::vector<ContendingThread> threads(2, thread_of(SharedUnit::fp));
  EXPECT_THAT(slowdowns_of(one_core(2), threads, {1, 1}), Each(DoubleEq(2)));
  std::vector<ContendingThread> half = threads;
  for (ContendingThread& thread : half)
    thread.busy = 0.5;
  EXPECT_THAT(slowdowns_of(one_core(2), half, {1, 1}), Each(DoubleEq(1)));
}

// A third thread on the other PU meets one of the two at any time, as it would meet a single one.
TEST(Contention, WithAPuOfTwoThatTakeTurnsIsThatWithOne) {
  const std::vector<ContendingThread> threads(3, thread_of(SharedUnit::fp));
  EXPECT_THAT(slowdowns_of(one_core(2), threads, {0, 0, 1}),
              ElementsAre(DoubleNear(2 * 1.9, 1e-12), DoubleNear(2 * 1.9, 1e-12), DoubleNear(1.9, 1e-12)));
}

TEST(Contention, WhereUnitsHaveRoomTakesTheSameSpeedForEveryPartnerButNoMoreThanTurnsWould) {
  SharedMachine machine = one_core(4);
  machine.levels.front().growth = Growth::speed;
  const std::vector<ContendingThread> of_int(3, thread_of(SharedUnit::integer));
  EXPECT_THAT(slowdowns_of(machine, of_int, {0, 1, 2}), Each(DoubleNear(1 / (1 - 2 * (1 - 1 / 1.4)), 1e-12)));
  const std::vector<ContendingThread> of_fp(4, thread_of(SharedUnit::fp));
  EXPECT_THAT(slowdowns_of(machine, of_fp, {0, 1, 2, 3}), Each(DoubleNear(4, 1e-12)));
}

TEST(Contention, OfMemoryOnAnotherNodeIsAsFarAsThatIs) {
  SharedMachine machine{.pus = 2, .levels = {}, .nodes = {{0}, {1}}, .remote_memory = 1.6};
  ContendingThread thread;
  thread.demand[SharedUnit::dram] = 0.5;
  thread.demand[SharedUnit::fp] = 0.5;
  thread.pages = {0.75, 0.25};
  EXPECT_THAT(slowdowns_of(machine, std::vector{thread}, {0}),
              ElementsAre(DoubleNear(1 + 0.5 * 0.25 * 0.6, 1e-12)));
  EXPECT_THAT(slowdowns_of(machine, std::vector{thread}, {1}),
              ElementsAre(DoubleNear(1 + 0.5 * 0.75 * 0.6, 1e-12)));
}

TEST(Contention, OfDataInCommonIsNoneWithinACache) {
  SharedMachine machine{.pus = 4, .levels = {}, .caches = {{0, 1}, {2, 3}}, .far_handover = 3};
  ContendingThread thread = thread_of(SharedUnit::llc);
  thread.data = 1;
  thread.overlap = 0.5;
  EXPECT_THAT(slowdowns_of(machine, std::vector(2, thread), {0, 1}), Each(DoubleEq(1)));
  EXPECT_THAT(slowdowns_of(machine, std::vector(2, thread), {0, 2}), Each(DoubleNear(1 + 0.5 * 2, 1e-12)));
  std::vector<ContendingThread> strangers(2, thread);
  strangers[1].data = 2;
  EXPECT_THAT(slowdowns_of(machine, strangers, {0, 2}), Each(DoubleEq(1)));
}

TEST(Contention, TellsWhatIsLostInCaches) {
  const std::vector<ContendingThread> threads{thread_of(SharedUnit::l2), thread_of(SharedUnit::dram)};
  EXPECT_NEAR(worth_of(one_core(2), threads, {0, 1}).cache_loss, 2.2 / 2, 1e-12);
  const std::vector<ContendingThread> computing(2, thread_of(SharedUnit::fp));
  EXPECT_EQ(worth_of(one_core(2), computing, {0, 1}).cache_loss, 0);
}

class RandomThreads : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomThreads, testing::Range<std::uint64_t>(1, 21));

TEST_P(RandomThreads, AreNeverFasterThanAloneAndNoneIsHelpedByOneMore) {
  Random random(GetParam());
  SharedMachine machine{.pus = 8, .levels = {level_of("core", 8, 2, smt_siblings())}};
  machine.levels.push_back(level_of("cache", 8, 4, last_level_cache()));
  std::vector<ContendingThread> threads;
  PuOfThread placement;
  std::vector<double> before;
  for (int i = 0; i < 16; ++i) {
    threads.push_back(random_thread(random));
    placement.push_back(static_cast<int>(random.below(8)));
    const auto now = slowdowns_of(machine, threads, placement);
    EXPECT_THAT(now, Each(testing::Ge(1)));
    const auto worth = worth_of(machine, threads, placement);
    EXPECT_GE(worth.fairness, 0);
    EXPECT_LE(worth.fairness, 1);
    EXPECT_LE(worth.log_throughput, 0);
    // A thread that takes turns with others makes them disturb less, so only the total work is compared.
    double sum = 0;
    for (std::size_t t = 0; t < threads.size(); ++t)
      sum += threads[t].busy / now[t];
    EXPECT_LE(sum, 8 + 1e-9);
  }
}

TEST_P(RandomThreads, AreAsFastWhateverPusAreCalled) {
  Random random(GetParam());
  const SharedMachine machine{.pus = 8, .levels = {level_of("core", 8, 2, smt_siblings())}};
  std::vector<ContendingThread> threads;
  PuOfThread placement;
  PuOfThread renamed;
  for (int pu = 0; pu < 8; ++pu) {
    threads.push_back(random_thread(random));
    placement.push_back(pu);
    renamed.push_back((pu + 3 * 2) % 8 ^ 1);  // cores and the PUs within them exchanged
  }
  const auto a = slowdowns_of(machine, threads, placement);
  const auto b = slowdowns_of(machine, threads, renamed);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-12);
}

TEST(ContentionOf, WhatCannotBeIsRefusedByName) {
  ContendingThread thread = thread_of(SharedUnit::fp);
  thread.demand[SharedUnit::l2] = 0.3;
  EXPECT_THAT(check(std::vector{thread}).error().message,
              testing::AllOf(HasSubstr("thread 'fp'"), HasSubstr("come to 1.3")));
  thread = thread_of(SharedUnit::fp);
  thread.busy = 0;
  EXPECT_THAT(check(std::vector{thread}).error().message, HasSubstr("busy is 0"));
  thread = thread_of(SharedUnit::fp);
  thread.demand[SharedUnit::l1] = -0.1;
  EXPECT_THAT(check(std::vector{thread}).error().message, HasSubstr("l1"));
  EXPECT_THAT(check(std::vector<ContendingThread>()).error().message, HasSubstr("0 threads"));
  thread = thread_of(SharedUnit::fp);
  thread.overlap = 2;
  EXPECT_THAT(check(std::vector{thread}).error().message, HasSubstr("overlap is 2"));
  thread = thread_of(SharedUnit::fp);
  thread.pages = {0.5, 0.1};
  EXPECT_THAT(check(std::vector{thread}).error().message, HasSubstr("pages"));

  EXPECT_THAT(check(SharedMachine{}).error().message, HasSubstr("0 PUs"));
  EXPECT_THAT(check({.pus = 2, .levels = {{.name = "core", .groups = {{0, 2}}}}}).error().message,
              HasSubstr("PU 2"));
  EXPECT_THAT(check({.pus = 2, .levels = {{.name = "core", .groups = {{0}, {1, 0}}}}}).error().message,
              HasSubstr("PU 0 is in two groups"));
  EXPECT_THAT(check({.pus = 2, .levels = {}, .nodes = {{0, 5}}}).error().message,
              HasSubstr("nodes groups PU 5"));
  EXPECT_THAT(check({.pus = 2, .levels = {}, .nodes = {}, .remote_memory = 0.5}).error().message,
              HasSubstr("0.5"));
  ContentionMatrix matrix;
  EXPECT_THAT(matrix.set(SharedUnit::fp, SharedUnit::l2, 0.9).error().message, HasSubstr("fp beside l2"));
}

TEST(SharedUnits, AreFoundByTheirNames) {
  for (const SharedUnit unit : all_shared_units)
    EXPECT_EQ(shared_unit_of(name_of(unit)), unit);
  EXPECT_EQ(shared_unit_of("gpu"), std::nullopt);
}

}  // namespace
}  // namespace millrace::model
