#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/limits/cgroup_limits.h"
#include "millrace/machine/limits/usable_memory.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* v1_mounts =
    "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
constexpr const char* v2_mounts = "22 1 8:1 / / rw - ext4 /dev/root rw\n"
                                  "25 22 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

// A made-up root folder with /proc and /sys files.
class CgroupLimitsTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  void belongs_to(const std::string& proc_self_cgroup, const std::string& mounts) const {
    write("proc/self/cgroup", proc_self_cgroup);
    write("proc/self/mountinfo", mounts);
  }
  [[nodiscard]] CgroupLimits read() const { return read_cgroup_limits(root_); }

  TemporaryFolder folder_;
  fs::path root_ = folder_.path();
};

TEST_F(CgroupLimitsTest, WithoutAnyFileThereIsNoLimit) {
  const CgroupLimits limits = read();
  EXPECT_FALSE(limits.quota);
  EXPECT_FALSE(limits.cpuset);
  EXPECT_THAT(limits.doubts, IsEmpty());
}

TEST_F(CgroupLimitsTest, ReadsTheQuotaOfVersion2) {
  belongs_to("0::/app\n", v2_mounts);
  write("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  const CgroupLimits limits = read();
  EXPECT_EQ(limits.quota, 1.5);
  EXPECT_EQ(limits.quota_from, "/sys/fs/cgroup/app/cpu.max");
}

TEST_F(CgroupLimitsTest, TheTightestOfAllAncestorsCounts) {
  belongs_to("0::/user/session/app\n", v2_mounts);
  write("sys/fs/cgroup/user/cpu.max", "200000 100000\n");
  write("sys/fs/cgroup/user/session/cpu.max", "50000 50000\n");
  write("sys/fs/cgroup/user/session/app/cpu.max", "max 100000\n");
  EXPECT_EQ(read().quota, 1.0);
  EXPECT_EQ(read().quota_from, "/sys/fs/cgroup/user/session/cpu.max");

  write("sys/fs/cgroup/user/cpu.max", "30000 100000\n");
  EXPECT_EQ(read().quota, 0.3);
  write("sys/fs/cgroup/user/session/app/cpu.max", "10000 100000\n");
  EXPECT_EQ(read().quota, 0.1);
}

TEST_F(CgroupLimitsTest, MaxIsNoLimit) {
  belongs_to("0::/app\n", v2_mounts);
  write("sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_FALSE(read().quota);
  EXPECT_THAT(read().doubts, IsEmpty());
}

TEST_F(CgroupLimitsTest, ReadsTheQuotaOfVersion1WithItsAncestors) {
  belongs_to("4:cpu,cpuacct:/docker/abc\n3:cpuset:/\n1:name=systemd:/\n", v1_mounts);
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read().quota, 2.5);
  EXPECT_EQ(read().quota_from, "/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us");
}

TEST_F(CgroupLimitsTest, BothVersionsSideBySideAreBothRead) {
  belongs_to("4:cpu,cpuacct:/a\n0::/a\n",
             std::string(v1_mounts) + "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000");
  write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/unified/a/cpu.max", "200000 100000");
  EXPECT_EQ(read().quota, 2.0);
}

TEST_F(CgroupLimitsTest, AMountedPartOfTheHierarchyIsTheGroupsOwn) {
  belongs_to("0::/docker/abc/inner\n", "25 22 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  write("sys/fs/cgroup/inner/cpu.max", "300000 100000\n");
  EXPECT_EQ(read().quota, 1.0);
}

TEST_F(CgroupLimitsTest, AGroupOutsideOfTheMountFallsBackToTheMount) {
  for (const char* path : {"0::/../../elsewhere\n", "0::/docker/other\n"}) {
    belongs_to(path, "25 22 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    write("sys/fs/cgroup/cpu.max", "100000 100000\n");
    EXPECT_EQ(read().quota, 1.0) << path;
  }
}

TEST_F(CgroupLimitsTest, APathThatClimbsNeverLeavesTheMount) {
  belongs_to("0::/../../../etc\n", v2_mounts);
  write("etc/cpu.max", "1000 100000\n");
  EXPECT_FALSE(read().quota);
}

TEST_F(CgroupLimitsTest, MountPointsMayHoldBlanks) {
  belongs_to("0::/\n", "25 22 0:22 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  write("my groups/cpu.max", "100000 100000\n");
  EXPECT_EQ(read().quota, 1.0);
}

TEST_F(CgroupLimitsTest, GarbageLimitsNothingAndIsReported) {
  belongs_to("0::/app\n", v2_mounts);
  for (const char* garbage : {"", "lots", "-5 100000", "0 100000", "100000 0", "1 2 3", "max max",
                              "1e5 100000", "99999999999999999999 100000"}) {
    write("sys/fs/cgroup/app/cpu.max", garbage);
    const CgroupLimits limits = read();
    EXPECT_FALSE(limits.quota) << garbage;
    ASSERT_THAT(limits.doubts, SizeIs(1)) << garbage;
    EXPECT_THAT(limits.doubts.front(), HasSubstr("/sys/fs/cgroup/app/cpu.max"));
  }
}

TEST_F(CgroupLimitsTest, AGarbledFileDoesNotHideAnAncestorsLimit) {
  belongs_to("0::/a/b\n", v2_mounts);
  write("sys/fs/cgroup/a/cpu.max", "200000 100000");
  write("sys/fs/cgroup/a/b/cpu.max", "?");
  EXPECT_EQ(read().quota, 2.0);
}

TEST_F(CgroupLimitsTest, AVersion1QuotaWithoutPeriodIsReported) {
  belongs_to("4:cpu:/\n", "30 25 0:26 / /cg rw - cgroup cgroup rw,cpu\n");
  write("cg/cpu.cfs_quota_us", "100000\n");
  EXPECT_FALSE(read().quota);
  EXPECT_THAT(read().doubts, ElementsAre(HasSubstr("period")));
}

TEST_F(CgroupLimitsTest, GarbledProcFilesMeanNoLimits) {
  belongs_to("::\n\n:\n7\nx:y\n0::relative\n", "a b c\n1 2 3 4 5 6 7 8\n- - - - - - - cgroup2\n");
  EXPECT_FALSE(read().quota);
}

TEST_F(CgroupLimitsTest, ReadsTheEffectiveCpusetOfEitherVersion) {
  belongs_to("0::/app\n", v2_mounts);
  write("sys/fs/cgroup/app/cpuset.cpus", "0-7\n");
  write("sys/fs/cgroup/app/cpuset.cpus.effective", "0-3,8\n");
  EXPECT_EQ(read().cpuset, (CpuSet{0, 1, 2, 3, 8}));

  belongs_to("3:cpuset:/box\n", v1_mounts);
  write("sys/fs/cgroup/cpuset/box/cpuset.cpus", "2-3\n");
  EXPECT_EQ(read().cpuset, (CpuSet{2, 3}));
  EXPECT_EQ(read().cpuset_from, "/sys/fs/cgroup/cpuset/box/cpuset.cpus");
}

TEST_F(CgroupLimitsTest, AnEmptyCpusetIsTheParents) {
  belongs_to("0::/a/b\n", v2_mounts);
  write("sys/fs/cgroup/a/b/cpuset.cpus", "\n");
  write("sys/fs/cgroup/a/cpuset.cpus.effective", "1\n");
  EXPECT_EQ(read().cpuset, CpuSet{1});
}

TEST_F(CgroupLimitsTest, AGarbledCpusetIsReported) {
  belongs_to("0::/a\n", v2_mounts);
  write("sys/fs/cgroup/a/cpuset.cpus.effective", "all\n");
  EXPECT_FALSE(read().cpuset);
  EXPECT_THAT(read().doubts, ElementsAre(HasSubstr("all")));
}

TEST(CgroupFiles, KeepsColonsAndCommasApart) {
  const auto memberships = parse_cgroup_memberships("2:cpu,cpuacct:/a:b\n0::/\n");
  ASSERT_THAT(memberships, SizeIs(2));
  EXPECT_THAT(memberships[0].controllers, ElementsAre("cpu", "cpuacct"));
  EXPECT_EQ(memberships[0].path, "/a:b");
  EXPECT_THAT(memberships[1].controllers, IsEmpty());
}

TEST(CgroupFiles, APeriodMayBeLeftOut) { EXPECT_EQ(parse_cpu_max("50000").value(), 0.5); }

TEST(CgroupLimits, OfTheLiveMachineAreUnderstood) {
  const CgroupLimits limits = read_cgroup_limits();
  EXPECT_THAT(limits.doubts, IsEmpty());
  EXPECT_TRUE(!limits.quota || *limits.quota > 0);
}

TEST_F(CgroupLimitsTest, TheTightestMemoryOfAllAncestorsCounts) {
  belongs_to("0::/user/app\n", v2_mounts);
  write("sys/fs/cgroup/user/memory.max", "3000000\n");
  write("sys/fs/cgroup/user/app/memory.max", "max\n");
  EXPECT_EQ(read().memory, 3'000'000U);
  EXPECT_EQ(usable_memory(root_), 3'000'000U);
  write("proc/meminfo", "MemTotal:    9000 kB\nMemAvailable:    2000 kB\n");
  EXPECT_EQ(usable_memory(root_), 2'048'000U);
}

TEST(UsableMemory, OfThisMachineIsKnown) {
  EXPECT_GT(usable_memory(), 1U << 20);
  EXPECT_LT(usable_memory(), std::uint64_t{1} << 60);
}

TEST(ParseMemoryLimit, KnowsNumbersAndTheWordsForNone) {
  EXPECT_EQ(parse_memory_limit("1048576\n"), 1048576U);
  for (const char* none : {"", "max\n", "9223372036854771712\n", "-1\n", "1 2\n"})
    EXPECT_EQ(parse_memory_limit(none), std::nullopt) << none;
}

}  // namespace
}  // namespace millrace::machine
