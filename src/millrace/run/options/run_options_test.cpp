#include "millrace/machine/topology/test_machines.h"
#include "millrace/run/options/run_options.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using machine::AffinityArrangement;

struct Machine {
  const char* name;
  machine::Topology (*make)();
};

class DefaultThreads : public testing::TestWithParam<std::tuple<Machine, AffinityArrangement>> {
 protected:
  machine::Topology topology_ = std::get<0>(GetParam()).make();
  AffinityArrangement arrangement_ = std::get<1>(GetParam());

  // As many as CPUs, or fewer because of a quota.
  void expect_fit(const machine::CpuSet& cpus, int quota) const {
    const machine::UsableCpus usable{.cpus = cpus, .worker_limit = std::min(quota, cpus.count())};
    const WorkerLimit limit(topology_, usable, usable.worker_limit);
    const int possible = machine::most_workers(topology_, cpus, arrangement_);
    for (const char* const structure : {"sequential", ""}) {
      RunOptions options;
      options.affinity = name_of(arrangement_);
      options.structure = structure;
      const auto run = video_run_options_of(options, {}, limit);
      ASSERT_TRUE(run) << run.error().message;
      int threads = 0;
      if (const auto* const fixed = std::get_if<image::Schedule>(&run->schedule)) {
        threads = fixed->threads;
        EXPECT_EQ(fixed->affinity, arrangement_);
      } else {
        threads = std::get<SearchOptions>(run->schedule).adaptive.freedom.max_threads;
      }
      EXPECT_EQ(threads, std::max(1, std::min(usable.worker_limit, possible)));
      EXPECT_EQ(machine::arrange(topology_, cpus, {arrangement_, threads}).has_value(), possible > 0);
    }
  }
};

TEST_P(DefaultThreads, FitTheAffinityThatIsAskedFor) {
  for (const machine::CpuSet& cpus : {topology_.cpus(), topology_.cpus().first(1), topology_.cpus().first(3)})
    for (const int quota : {1, 3, 1000})
      expect_fit(cpus, quota);
}

INSTANTIATE_TEST_SUITE_P(Machines, DefaultThreads,
                         testing::Combine(testing::Values(Machine{"bulldozer", machine::bulldozer},
                                                          Machine{"power7", machine::power7},
                                                          Machine{"two_sockets", machine::two_sockets_smt},
                                                          Machine{"hybrid", machine::hybrid},
                                                          Machine{"single_pu", machine::single_pu}),
                                          testing::ValuesIn(machine::all_affinity_arrangements)),
                         [](const auto& tested) {
                           std::string name = fmt::format("{}_{}", std::get<0>(tested.param).name,
                                                          name_of(std::get<1>(tested.param)));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Threads, ThatAreAskedForAreNotMadeFewer) {
  const machine::Topology topology = machine::bulldozer();
  const machine::UsableCpus usable{.cpus = topology.cpus(), .worker_limit = 8};
  RunOptions options;
  options.affinity = "io-diff";
  options.structure = "tiled";
  options.threads = 8;
  const auto schedule = schedule_of(options, WorkerLimit(topology, usable, 8));
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->threads, 8) << "the executor names what is missing";
}

}  // namespace
}  // namespace millrace::run
