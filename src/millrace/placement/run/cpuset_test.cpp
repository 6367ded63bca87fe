#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/run/program_testing.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

bool write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// A real cpuset of the kernel's (cgroup v2, or v1 where that has the controller), gone at the end.
class Cpuset {
 public:
  // Nothing where this user may make none.
  static std::optional<Cpuset> make(const CpuSet& cpus) {
    const std::string name = fmt::format("millrace-test-{}", getpid());
    const std::filesystem::path v1 = "/sys/fs/cgroup/cpuset";
    const std::filesystem::path v2 = "/sys/fs/cgroup";
    std::error_code error;
    std::filesystem::path folder;
    if (std::filesystem::exists(v1 / "cpuset.mems", error)) {
      folder = v1 / name;
    } else {
      if (!write_text(v2 / "cgroup.subtree_control", "+cpuset")) return std::nullopt;
      folder = v2 / name;
    }
    if (!std::filesystem::create_directory(folder, error)) return std::nullopt;
    Cpuset made(folder);
    std::string nodes;
    std::getline(std::ifstream(v1 / "cpuset.mems"), nodes);
    if (!nodes.empty() && !write_text(folder / "cpuset.mems", nodes)) return std::nullopt;
    if (!write_text(folder / "cpuset.cpus", cpus.to_string())) return std::nullopt;
    return made;
  }
  ~Cpuset() {
    if (folder_.empty()) return;
    // Processes that have ended leave it a little later.
    std::ignore = eventually([this] { return rmdir(folder_.c_str()) == 0; });
  }
  Cpuset(Cpuset&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Cpuset& operator=(Cpuset&&) = delete;
  Cpuset(const Cpuset&) = delete;
  Cpuset& operator=(const Cpuset&) = delete;

  // With all its threads.
  [[nodiscard]] bool take_in(pid_t process) const {
    return write_text(folder_ / "cgroup.procs", std::to_string(process));
  }

 private:
  explicit Cpuset(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

// The upper half of what this test may use.
CpuSet narrow() {
  CpuSet cpus = machine::current_thread_affinity().value();
  cpus -= cpus.first((cpus.count() + 1) / 2);
  return cpus;
}

class ProgramInCpuset : public testing::TestWithParam<BirthWay> {
 protected:
  void SetUp() override {
    if (narrow().empty()) GTEST_SKIP() << "one CPU leaves nothing to narrow";
    auto made = Cpuset::make(narrow());
    if (!made) GTEST_SKIP() << "this user may make no cpuset";
    cpuset_.emplace(std::move(*made));
  }
  std::optional<Cpuset> cpuset_;
};

TEST_P(ProgramInCpuset, IsPlacedWithinIt) {
  const int count = narrow().count();
  const auto settings = fixed(MaskPolicy::one_to_one, GetParam(),
                              {testing_program("dynamic", "threads"), std::to_string(count), "0.3"});
  TestProcess process(settings, [this] {
    if (!cpuset_->take_in(getpid())) _exit(1);
  });
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.summary.threads.refused, 0);
  std::istringstream lines(run.output);
  CpuSet used;
  int threads = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto mask = CpuSet::parse(line.substr(line.rfind(' ') + 1));
    ASSERT_TRUE(mask) << line;
    EXPECT_TRUE(narrow().contains_all(*mask)) << line;
    if (line.starts_with("main")) {
      EXPECT_EQ(*mask, narrow());
      continue;
    }
    ++threads;
    used |= *mask;
    if (GetParam() != BirthWay::polling) {
      EXPECT_EQ(mask->count(), 1) << line;
    }
  }
  EXPECT_EQ(threads, count);
  EXPECT_EQ(used, narrow());
}

TEST_P(ProgramInCpuset, ThatCameWhileItRanEndsAsItWouldAndStaysWithinIt) {
  const int count = machine::current_thread_affinity()->count();
  TestProcess process(fixed(MaskPolicy::one_to_one, GetParam(),
                            {testing_program("dynamic", "threads"), std::to_string(count), "60"}));
  ASSERT_TRUE(process.wait_for_output(fmt::format("thread {}", count - 1)));
  const pid_t program = process.program();
  ASSERT_NE(program, 0);
  ASSERT_TRUE(cpuset_->take_in(program));
  const auto all_within = [&] {
    for (const pid_t thread : list_threads(program))
      if (const auto mask = machine::thread_affinity(thread); mask && !narrow().contains_all(*mask))
        return false;
    return true;
  };
  EXPECT_TRUE(all_within());
  // Observed, and its policy followed, several times meanwhile.
  constexpr useconds_t several_observations_us = 700'000;
  usleep(several_observations_us);
  EXPECT_TRUE(all_within());
  kill(program, SIGTERM);
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 128 + SIGTERM) << run.errors;
}

INSTANTIATE_TEST_SUITE_P(Ways, ProgramInCpuset,
                         testing::Values(BirthWay::ptrace, BirthWay::shim, BirthWay::polling),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace millrace::placement
