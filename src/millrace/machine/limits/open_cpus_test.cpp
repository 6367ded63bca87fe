#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/limits/open_cpus.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

// A made-up root folder with the files of process 7.
class OpenCpusTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  TemporaryFolder folder_;
  std::filesystem::path root_ = folder_.path();
};

TEST_F(OpenCpusTest, AreThoseOnlineOfTheNearestCpuset) {
  write("proc/7/cgroup", "0::/app/part\n");
  EXPECT_EQ(open_cpus(7, root_), CpuSet());
  write("sys/devices/system/cpu/online", "0-3,6\n");
  EXPECT_EQ(open_cpus(7, root_), (CpuSet{0, 1, 2, 3, 6}));
  write("proc/self/mountinfo", "25 22 0:22 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
  EXPECT_EQ(open_cpus(7, root_), (CpuSet{0, 1, 2, 3, 6}));
  write("sys/fs/cgroup/app/cpuset.cpus.effective", "2-7\n");
  EXPECT_EQ(open_cpus(7, root_), (CpuSet{2, 3, 6}));
  write("sys/fs/cgroup/app/part/cpuset.cpus.effective", "3\n");
  EXPECT_EQ(open_cpus(7, root_), CpuSet{3});
  EXPECT_EQ(open_cpus(8, root_), CpuSet());
}

TEST_F(OpenCpusTest, OfVersion1AreThoseOfItsOwnHierarchy) {
  write("proc/7/cgroup", "4:cpuset:/app\n0::/other\n");
  write("sys/devices/system/cpu/online", "0-3\n");
  write("proc/self/mountinfo", "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  write("sys/fs/cgroup/cpuset/app/cpuset.effective_cpus", "1-2\n");
  EXPECT_EQ(open_cpus(7, root_), (CpuSet{1, 2}));
}

TEST(OpenCpus, AreWhatAThreadHasThatAsksForEveryCpu) {
  const AffinityGuard guard;
  const auto granted = bind_current_thread(every_cpu());
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_EQ(*granted, open_cpus(getpid()));
}

TEST(WholeMask, IsTheThreadsMaskWhileNoCpuComesOrGoes) {
  const CpuSet first = current_thread_affinity()->first(1);
  const AffinityGuard guard;
  EXPECT_EQ(whole_mask(gettid()) & open_cpus(getpid()), current_thread_affinity().value());
  ASSERT_TRUE(bind_current_thread(first));
  EXPECT_EQ(whole_mask(gettid()), first);
  EXPECT_EQ(whole_mask(-1), CpuSet());
}

}  // namespace
}  // namespace millrace::machine
