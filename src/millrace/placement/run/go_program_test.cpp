#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/run/program_testing.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

constexpr int goroutines = 6;
constexpr int exit_code = 5;

struct GoCase {
  const char* kind;
  BirthWay way;
  bool binds_at_birth;
};

// Builds testing/go_threads.go in two ways. Go alone gives a static program that makes its threads without
// libc. With cgo it gives a dynamic one that uses pthread_create.
class GoProgram : public testing::TestWithParam<GoCase> {
 protected:
  static void SetUpTestSuite() {
    if (std::system("go version >/dev/null 2>&1") != 0) return;
    if (folder_.emplace().path().empty()) return folder_.reset();
    std::filesystem::copy_file(MILLRACE_TESTING_SOURCES "/go_threads.go", *folder_ / "threads.go");
    // A file that imports "C" makes the program link libc and make its threads through it.
    make_file(*folder_ / "cgo.go", "package main\n\nimport \"C\"\n");
    build("static", "CGO_ENABLED=0", "threads.go");
    build("cgo", "CGO_ENABLED=1", "threads.go cgo.go");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  // Returns nothing if it could not be built.
  [[nodiscard]] static std::optional<std::string> program() {
    if (!folder_) return std::nullopt;
    std::string path = *folder_ / GetParam().kind;
    return std::filesystem::exists(path) ? std::optional(std::move(path)) : std::nullopt;
  }

 private:
  static void build(const std::string& kind, const std::string& environment, const std::string& files) {
    // Sets a cache folder if there is no home folder for it.
    const std::string cache = std::getenv("HOME") == nullptr ? "GOCACHE=" + (*folder_ / "cache") : "";
    const std::string command =
        fmt::format("cd {} && env {} {} GOFLAGS= GO111MODULE=off GOTOOLCHAIN=local go build -o {} {} >&2",
                    folder_->path().string(), environment, cache, kind, files);
    // A failed build leaves no file, which program() notices.
    std::ignore = std::system(command.c_str());
  }

  static inline std::optional<TemporaryFolder> folder_;  // NOLINT(readability-identifier-naming)
};

TEST_P(GoProgram, HasItsThreadsPlacedAndEndsAsItWould) {
  const auto built = program();
  if (!built) GTEST_SKIP() << "no Go program: 'go' is not there or built none (" << GetParam().kind << ")";
  const CpuSet allowed = machine::current_thread_affinity().value();
  const int last = allowed.highest();

  RunSettings settings = fixed(MaskPolicy::none, GetParam().way, {*built, std::to_string(goroutines)});
  settings.policy = cpu_list_policy({CpuSet{last}});
  settings.policy_name = "cpus";
  const TestRun run = run_to_end(settings);

  EXPECT_EQ(run.status, exit_code) << run.errors;
  std::map<std::string, std::string> seen;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);)
    seen[line.substr(0, line.rfind(' '))] = line.substr(line.rfind(' ') + 1);
  EXPECT_EQ(seen["cpus"], std::to_string(allowed.count())) << "the runtime must count all CPUs";
  for (int i = 0; i < goroutines; ++i) {
    if (GetParam().binds_at_birth) {
      EXPECT_EQ(seen[fmt::format("first {}", i)], std::to_string(last));
    }
    EXPECT_EQ(seen[fmt::format("later {}", i)], std::to_string(last));
  }
  EXPECT_GT(run.summary.threads.births, goroutines);
  EXPECT_EQ(run.summary.threads.refused, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, GoProgram,
    testing::Values(GoCase{"static", BirthWay::ptrace, true}, GoCase{"cgo", BirthWay::ptrace, true},
                    GoCase{"cgo", BirthWay::polling, false}, GoCase{"static", BirthWay::polling, false}),
    [](const auto& tested) { return fmt::format("{}_by_{}", tested.param.kind, name_of(tested.param.way)); });

}  // namespace
}  // namespace millrace::placement
