#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/intensity/sample/thread_sampler.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/run/unit_watch.h"

#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// Threads of this process that compute until the object is destroyed.
class Computing {
 public:
  explicit Computing(const std::vector<std::function<void()>>& works)
      : numbers_(works.size()), begun_(static_cast<std::ptrdiff_t>(works.size())) {
    for (std::size_t i = 0; i < works.size(); ++i)
      threads_.emplace_back([this, i, work = works[i]] {
        numbers_[i] = gettid();
        begun_.count_down();
        while (!stop_.load(std::memory_order_relaxed))
          work();
      });
    begun_.wait();
  }
  ~Computing() { stop_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] const std::vector<pid_t>& numbers() const { return numbers_; }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<pid_t> numbers_;
  std::latch begun_;
  std::vector<std::jthread> threads_;
};

void compute_floats() {
  volatile double x = 1;
  for (int i = 0; i < 100000; ++i)
    x = x * 1.0000001 + x * 0.0000001 - x / 3;
}

// Two groups. Each has one CPU that this process may use and one that does not exist. So the existing CPUs
// share no unit, and yet threads must be kept apart. There is one cache, because a thread with its own cache
// would stay there, wherever the kernel of a busy machine put it.
struct TwoGroups {
  CpuSet allowed = machine::current_thread_affinity().value();
  int first = allowed.lowest();
  int second = (allowed - CpuSet{first}).lowest();
  int absent = 900;
  machine::Topology topology{{.caches = {{.level = 3,
                                          .type = machine::CacheType::unified,
                                          .size_bytes = 32 << 20,
                                          .line_bytes = 64,
                                          .cpus = {first, second, absent, absent + 1}}},
                              .cores = {{first, absent}, {second, absent + 1}},
                              .core_kinds = {},
                              .architecture = "x86_64",
                              .hypervisor = {}}};
};

TEST(UnitWatch, KeepsFloatingPointThreadsApartAndGivesBackWhatTheyHad) {
  if (machine::current_thread_affinity()->count() < 2) GTEST_SKIP() << "one CPU";
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  const TwoGroups machine;
  const TemporaryFolder folder;
  Journal journal = std::move(Journal::begin(std::move(StateFolder::open(folder.path()).value())).value());
  ThreadRegister threads({.topology = nullptr, .allowed = machine.allowed, .load = {}},
                         policy_of({.masks = MaskPolicy::units}), journal);
  ASSERT_TRUE(threads.process_began(getpid()));
  const Computing computing({compute_floats, compute_floats});
  for (const pid_t thread : computing.numbers())
    threads.thread_began(thread, getpid());
  const CpuSet both{machine.first, machine.second, machine.absent, machine.absent + 1};
  UnitWatch watch(UnitsMode::workover, threads, machine.topology, both);
  EXPECT_TRUE(watch.places());
  const auto mask_of = [&](std::size_t i) {
    return machine::thread_affinity(computing.numbers()[i]).value();
  };
  EXPECT_TRUE(eventually([&] {
    if (now_ns() >= watch.next_ns()) watch.tick({});
    return mask_of(0).count() == 1 && mask_of(1).count() == 1 && mask_of(0) != mask_of(1);
  }));
  threads.restore();
  EXPECT_EQ(mask_of(0), machine.allowed);
  EXPECT_EQ(mask_of(1), machine.allowed);
  EXPECT_EQ(watch.finish().threads.size(), 3U);
}

TEST(UnitWatch, OnlyObservesWhereGroupsAreNotToBeBelieved) {
  const CpuSet allowed = machine::current_thread_affinity().value();
  const machine::Topology topology(
      {.cores = {{0, 2}, {1, 3}}, .core_kinds = {}, .architecture = "x86_64", .hypervisor = "KVM"});
  const TemporaryFolder folder;
  Journal journal = std::move(Journal::begin(std::move(StateFolder::open(folder.path()).value())).value());
  ThreadRegister threads({.topology = nullptr, .allowed = allowed, .load = {}}, policy_of({}), journal);
  UnitWatch watch(UnitsMode::automatic, threads, topology, allowed);
  EXPECT_FALSE(watch.places());
  const UnitFindings findings = watch.finish();
  EXPECT_NE(findings.not_placed.find("KVM"), std::string::npos);
  EXPECT_NE(lines_of(findings).back().find("KVM"), std::string::npos);
}

TEST(UnitFindings, NameEachThreadAndItsDemand) {
  UnitFindings findings{.mode = UnitsMode::automatic, .source = intensity::Source::samples};
  machine::Demand demand;
  demand[machine::SharedUnit::fp] = 0.75;
  demand[machine::SharedUnit::dram] = 0.25;
  findings.threads.push_back(
      {.thread = 7, .process = 6, .name = "re\x1bnder", .samples = 100, .demand = demand});
  findings.threads.push_back({.thread = 8, .process = 6, .name = "waits", .samples = 3});
  const auto json = to_json(findings);
  EXPECT_EQ(json["source"], "samples");
  EXPECT_EQ(json["overlaps"], nlohmann::json::array());
  EXPECT_EQ(json["threads"][0]["name"], "re\\x1bnder");
  EXPECT_EQ(json["threads"][0]["demand"], (nlohmann::json{{"int", 0.0},
                                                          {"fp", 0.75},
                                                          {"simd", 0.0},
                                                          {"l1", 0.0},
                                                          {"l2", 0.0},
                                                          {"llc", 0.0},
                                                          {"dram", 0.25}}));
  EXPECT_TRUE(json["threads"][1]["demand"].is_null());
  EXPECT_NE(lines_of(findings).front().find("use most: fp 1, not known 1"), std::string::npos);
  EXPECT_TRUE(to_json(UnitFindings()).is_null());
  EXPECT_TRUE(lines_of(UnitFindings()).empty());
}

}  // namespace
}  // namespace millrace::placement
