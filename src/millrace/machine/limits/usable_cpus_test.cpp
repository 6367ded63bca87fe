#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CpuSet eight = CpuSet::range(0, 7);

CgroupLimits quota_of(double cpus) {
  CgroupLimits limits;
  limits.quota = cpus;
  limits.quota_from = "/sys/fs/cgroup/cpu.max";
  return limits;
}

TEST(UsableCpus, AreTheWholeMachineWhenNothingLimitsIt) {
  const UsableCpus usable = usable_cpus_from(eight, eight, {});
  EXPECT_EQ(usable.cpus, eight);
  EXPECT_EQ(usable.worker_limit, 8);
  EXPECT_THAT(usable.reasons, IsEmpty());
}

TEST(UsableCpus, AreWhatAffinityAndCpusetHaveInCommon) {
  CgroupLimits limits;
  limits.cpuset = CpuSet{2, 3, 4};
  limits.cpuset_from = "/sys/fs/cgroup/a/cpuset.cpus.effective";
  const UsableCpus usable = usable_cpus_from(eight, {0, 2, 3}, limits);
  EXPECT_EQ(usable.cpus, (CpuSet{2, 3}));
  EXPECT_EQ(usable.worker_limit, 2);
  EXPECT_THAT(usable.reasons, ElementsAre(HasSubstr("affinity mask"), HasSubstr("/sys/fs/cgroup/a/cpuset")));
}

TEST(UsableCpus, LeaveOutACpusetThatContradictsTheAffinity) {
  CgroupLimits limits;
  limits.cpuset = CpuSet{7};
  EXPECT_EQ(usable_cpus_from(eight, {0, 1}, limits).cpus, (CpuSet{0, 1}));
}

struct QuotaCase {
  double quota;
  int worker_limit;
};

class WorkerLimit : public testing::TestWithParam<QuotaCase> {};

TEST_P(WorkerLimit, IsTheQuotaRoundedDownButAtLeastOneAndAtMostTheCpus) {
  const UsableCpus usable = usable_cpus_from(eight, eight, quota_of(GetParam().quota));
  EXPECT_EQ(usable.worker_limit, GetParam().worker_limit);
  EXPECT_EQ(usable.most_workers, std::min(std::max(1.0, std::ceil(GetParam().quota)), 8.0));
  EXPECT_EQ(usable.cpus, eight) << "a quota limits time, not places";
  EXPECT_THAT(usable.reasons, ElementsAre(HasSubstr("/sys/fs/cgroup/cpu.max")));
}

INSTANTIATE_TEST_SUITE_P(Quotas, WorkerLimit,
                         testing::Values(QuotaCase{0.001, 1}, QuotaCase{0.5, 1}, QuotaCase{1, 1},
                                         QuotaCase{1.5, 1}, QuotaCase{1.99, 1}, QuotaCase{2, 2},
                                         QuotaCase{7.9, 7}, QuotaCase{8, 8}, QuotaCase{8.5, 8},
                                         QuotaCase{1e18, 8}));

TEST(UsableCpus, OfTheLiveThreadFollowItsAffinity) {
  const AffinityGuard guard;
  const CpuSet one = guard.saved()->first(1);
  ASSERT_TRUE(bind_current_thread(one));
  const auto usable = usable_cpus(*guard.saved());
  ASSERT_TRUE(usable) << usable.error().message;
  EXPECT_EQ(usable->cpus, one);
  EXPECT_EQ(usable->worker_limit, 1);
}

}  // namespace
}  // namespace millrace::machine
