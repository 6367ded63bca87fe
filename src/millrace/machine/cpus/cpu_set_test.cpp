#include "millrace/machine/cpus/cpu_set.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

// Random sets over [0, ceiling), each with an equal std::set as reference.
struct RandomSet {
  CpuSet cpus;
  std::set<int> model;
};

RandomSet random_set(std::mt19937& random, int ceiling) {
  std::uniform_int_distribution<int> cpu(0, ceiling - 1);
  std::uniform_int_distribution<int> size(0, 40);
  RandomSet made;
  for (int left = size(random); left > 0; --left) {
    const int first = cpu(random);
    const int last = std::min(first + size(random) / 8, ceiling - 1);
    for (int member = first; member <= last; ++member) {
      made.cpus.insert(member);
      made.model.insert(member);
    }
  }
  return made;
}

std::vector<int> members_of(const std::set<int>& model) { return {model.begin(), model.end()}; }

class CpuSetProperty : public testing::TestWithParam<int> {
 protected:
  static constexpr int rounds = 300;
  std::mt19937 random_{static_cast<unsigned>(GetParam())};
};

TEST_P(CpuSetProperty, AgreesWithAnOrderedSet) {
  for (int round = 0; round < rounds; ++round) {
    const auto [cpus, model] = random_set(random_, GetParam());
    EXPECT_EQ(cpus.to_vector(), members_of(model));
    EXPECT_EQ(cpus.count(), std::ssize(model));
    EXPECT_EQ(cpus.empty(), model.empty());
    EXPECT_EQ(cpus.lowest(), model.empty() ? -1 : *model.begin());
    EXPECT_EQ(cpus.highest(), model.empty() ? -1 : *model.rbegin());
    for (int cpu = -1; cpu <= GetParam(); ++cpu)
      ASSERT_EQ(cpus.contains(cpu), model.contains(cpu)) << cpu;
  }
}

TEST_P(CpuSetProperty, AlgebraAgreesWithAnOrderedSet) {
  for (int round = 0; round < rounds; ++round) {
    const auto [a, model_a] = random_set(random_, GetParam());
    const auto [b, model_b] = random_set(random_, GetParam());
    std::vector<int> united;
    std::vector<int> shared;
    std::vector<int> left;
    std::ranges::set_union(model_a, model_b, std::back_inserter(united));
    std::ranges::set_intersection(model_a, model_b, std::back_inserter(shared));
    std::ranges::set_difference(model_a, model_b, std::back_inserter(left));
    EXPECT_EQ((a | b).to_vector(), united);
    EXPECT_EQ((a & b).to_vector(), shared);
    EXPECT_EQ((a - b).to_vector(), left);
    EXPECT_EQ(a.intersects(b), !shared.empty());
    EXPECT_EQ(a.contains_all(b), std::ranges::includes(model_a, model_b));
    EXPECT_EQ((a - b) | (a & b), a);
    EXPECT_TRUE((a - a).empty());
  }
}

TEST_P(CpuSetProperty, PrintedListReadsBackAsTheSameSet) {
  for (int round = 0; round < rounds; ++round) {
    const CpuSet cpus = random_set(random_, GetParam()).cpus;
    const auto read = CpuSet::parse(cpus.to_string() + "\n");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, cpus);
  }
}

TEST_P(CpuSetProperty, FirstTakesTheLowest) {
  for (int round = 0; round < rounds; ++round) {
    const CpuSet cpus = random_set(random_, GetParam()).cpus;
    const int n = static_cast<int>(random_() % 12) - 1;
    const CpuSet taken = cpus.first(n);
    EXPECT_EQ(taken.count(), std::clamp(n, 0, cpus.count()));
    EXPECT_TRUE(cpus.contains_all(taken));
    const CpuSet rest = cpus - taken;
    EXPECT_TRUE(taken.empty() || rest.empty() || taken.highest() < rest.lowest());
  }
}

TEST_P(CpuSetProperty, EraseUndoesInsert) {
  for (int round = 0; round < rounds; ++round) {
    const CpuSet cpus = random_set(random_, GetParam()).cpus;
    const int cpu = static_cast<int>(random_() % 5000);
    CpuSet changed = cpus;
    changed.insert(cpu);
    EXPECT_TRUE(changed.contains(cpu));
    changed.erase(cpu);
    EXPECT_EQ(changed, cpus - CpuSet{cpu});
  }
}

INSTANTIATE_TEST_SUITE_P(Ceilings, CpuSetProperty, testing::Values(1, 2, 63, 64, 65, 130, 1024, 4096));

TEST(CpuSet, PrintsRunsAsRanges) {
  EXPECT_EQ((CpuSet{0, 1, 2, 3, 8}).to_string(), "0-3,8");
  EXPECT_EQ((CpuSet{4, 0, 1}).to_string(), "0-1,4");
  EXPECT_EQ(CpuSet().to_string(), "");
  EXPECT_EQ(CpuSet::range(60, 4095).to_string(), "60-4095");
}

TEST(CpuSet, ReadsListsInAnyOrderWithOverlaps) {
  EXPECT_EQ(CpuSet::parse(" 8,0-3,2-4\n"), (CpuSet{0, 1, 2, 3, 4, 8}));
  EXPECT_EQ(CpuSet::parse(""), CpuSet());
  EXPECT_EQ(CpuSet::parse("\n"), CpuSet());
}

TEST(CpuSet, HoldsTheHighestNumber) {
  const CpuSet cpus{CpuSet::limit - 1};
  EXPECT_EQ(cpus.highest(), CpuSet::limit - 1);
  EXPECT_EQ(CpuSet::parse(cpus.to_string()), cpus);
}

class MalformedCpuList : public testing::TestWithParam<const char*> {};

TEST_P(MalformedCpuList, IsAUsageErrorThatQuotesTheList) {
  const auto cpus = CpuSet::parse(GetParam());
  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().kind, ErrorKind::usage);
  EXPECT_NE(cpus.error().message.find(GetParam()), std::string::npos) << cpus.error().message;
}

INSTANTIATE_TEST_SUITE_P(Lists, MalformedCpuList,
                         testing::Values("a", "-1", "3-1", "1-", "-", ",", "1,,2", "1,", "0x3", "1-2-3",
                                         "1 2", "65536", "99999999999999999999", "0-99999999", "+1"));

}  // namespace
}  // namespace millrace::machine
