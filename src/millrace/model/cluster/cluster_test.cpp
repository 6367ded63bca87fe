#include "millrace/model/cluster/cluster_report.h"
#include "millrace/model/cluster/cluster_toml.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::model {
namespace {

ClusterOutcome run(const ClusterJob& job, const std::vector<ClusterMachines>& machines) {
  return simulate_cluster(job, machines, 1);
}

TEST(SimulatedCluster, MachinesThatAreAlikeShareChunksEvenly) {
  const ClusterOutcome four = run({.chunks = 8, .work = 10}, {{.count = 4}});
  EXPECT_DOUBLE_EQ(four.seconds, 20);
  EXPECT_DOUBLE_EQ(four.efficiency, 1);
  // Nine chunks: one machine does a third while the others wait.
  const ClusterOutcome uneven = run({.chunks = 9, .work = 10}, {{.count = 4}});
  EXPECT_DOUBLE_EQ(uneven.seconds, 30);
  EXPECT_DOUBLE_EQ(uneven.idle, 0.25);
}

TEST(SimulatedCluster, AMachineOfTwiceTheSpeedPullsTwiceAsMuch) {
  const ClusterOutcome mixed = run({.chunks = 30, .work = 10}, {{.count = 1, .speed = 2}, {.count = 1}});
  EXPECT_DOUBLE_EQ(mixed.seconds, 100);
  EXPECT_DOUBLE_EQ(mixed.efficiency, 1);
}

TEST(SimulatedCluster, EverySecondOfEveryMachineIsAccountedFor) {
  const ClusterJob job{.chunks = 40,
                       .work = 10,
                       .variation = 0.3,
                       .bytes = 1e6,
                       .storage = 1e7,
                       .learning = 3,
                       .before = 2,
                       .after = 5,
                       .overhead = 0.1};
  const ClusterOutcome o =
      run(job, {{.count = 3, .start_up = 4, .link = 1e6, .taken_every = 40, .taken_for = 5}});
  EXPECT_GT(o.taken, 0);
  EXPECT_GE(o.idle, 0);
  EXPECT_NEAR(o.efficiency + 40 * 0.1 / (3 * o.seconds) + o.starting + o.transferring + o.learning +
                  o.repeated + o.idle,
              1, 1e-9);
}

TEST(SimulatedCluster, ASharedStoreIsTheLimitThatItsBytesMakeIt) {
  // 100 chunks of 1 MB at 1 MB per second take at least 100 seconds, however many machines there are.
  const ClusterOutcome o = run({.chunks = 100, .work = 1, .bytes = 1e6, .storage = 1e6}, {{.count = 50}});
  EXPECT_NEAR(o.seconds, 101, 1e-9);
}

TEST(SimulatedCluster, WithSharedPlansOnlyTheFirstOfAKindLearns) {
  // One machine is up early, the others when it has learnt.
  const std::vector<ClusterMachines> machines{{.name = "a", .count = 1}};
  const ClusterJob cold{.chunks = 4, .work = 10, .learning = 5};
  EXPECT_DOUBLE_EQ(run(cold, machines).seconds, 45);
  ClusterJob shared = cold;
  shared.chunks = 200;
  shared.shared_plans = true;
  ClusterJob apart = shared;
  apart.shared_plans = false;
  const std::vector<ClusterMachines> taken{{.count = 4, .taken_every = 100, .taken_for = 1}};
  EXPECT_LT(run(shared, taken).learning, run(apart, taken).learning / 3);
}

TEST(SimulatedCluster, ACopyByAFasterMachineEndsTheWaitForASlowOne) {
  const std::vector<ClusterMachines> machines{{.count = 1, .speed = 10}, {.count = 1, .speed = 0.1}};
  ClusterJob job{.chunks = 2, .work = 10};
  EXPECT_DOUBLE_EQ(run(job, machines).seconds, 2);
  job.speculation = false;
  EXPECT_DOUBLE_EQ(run(job, machines).seconds, 100);
}

TEST(SimulatedCluster, CopiesAreDecidedOnByWhatIsUsualAsNobodyKnowsWhatAChunkWillTake) {
  // Equal machines: a chunk that began earlier is expected to end earlier, however long it really takes.
  const ClusterJob uneven{.chunks = 50, .work = 10, .variation = 1};
  EXPECT_EQ(run(uneven, {{.count = 8}}).copies, 0);
  // Unequal machines: the fast one copies a chunk that the slow one would still need long for.
  EXPECT_EQ(run({.chunks = 2, .work = 10}, {{.count = 1, .speed = 10}, {.count = 1, .speed = 0.1}}).copies,
            1);
}

TEST(SimulatedCluster, ChunksOfMachinesThatAreTakenAwayAreDoneByOthers) {
  const ClusterOutcome o =
      run({.chunks = 500, .work = 10}, {{.count = 8, .start_up = 1, .taken_every = 60, .taken_for = 30}});
  EXPECT_GT(o.taken, 50);
  EXPECT_GT(o.repeated, 0);
  EXPECT_LT(o.efficiency, 0.9);
  EXPECT_GT(o.seconds, 500.0 * 10 / 8);
}

TEST(SimulatedCluster, ChunksVaryAsMuchAsIsSaid) {
  ClusterJob job{.chunks = 20000, .work = 2, .variation = 0.5};
  EXPECT_NEAR(run(job, {{.count = 1}}).seconds / 20000, 2, 0.03);
  job.variation = 1.5;
  EXPECT_NEAR(run(job, {{.count = 1}}).seconds / 20000, 2, 0.1);
}

// A two-hour film, in chunks of 5 seconds and, as in docs/cluster.md, of 10.
TEST(SimulatedCluster, SixtyFourMachinesAlikeAndMixedUseNineTenthsOfTheirCapacity) {
  const std::vector<ClusterMachines> alike{{.count = 64, .start_up = 4}};
  const std::vector<ClusterMachines> mixed{{.count = 32, .start_up = 4},
                                           {.count = 32, .speed = 0.5, .start_up = 4}};
  for (const auto& machines : {alike, mixed}) {
    double sum = 0;
    constexpr std::uint64_t seeds = 50;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const ClusterJob shorter{.chunks = 1440, .work = 5, .variation = 0.2};
      EXPECT_GE(simulate_cluster(shorter, machines, seed).efficiency, 0.9) << seed;
      const ClusterJob usual{.chunks = 720, .work = 10, .variation = 0.2};
      sum += simulate_cluster(usual, machines, seed).efficiency;
    }
    EXPECT_GE(sum / seeds, 0.9);
  }
}

TEST(SimulatedCluster, KindsKeepTheirProportionsAtEverySize) {
  const std::vector<ClusterMachines> kinds{{.name = "a", .count = 1}, {.name = "b", .count = 3}};
  for (int count = 1; count <= 40; ++count) {
    const auto sized = scaled(kinds, count);
    EXPECT_EQ(sized[0].count + sized[1].count, count);
    EXPECT_LE(std::abs(sized[0].count - count / 4.0), 1);
  }
}

TEST(ClusterToml, ReadsWhatItSays) {
  const auto read = parse_cluster_toml("[job]\nchunks = 3\nwork = 10\nshared_plans = true\nsizes = [1, 2]\n"
                                       "[[machine]]\nname = \"old\"\nspeed = 0.5\nlink = 1e6\n",
                                       "f.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->job.chunks, 3);
  EXPECT_TRUE(read->job.shared_plans);
  EXPECT_THAT(read->sizes, ::testing::ElementsAre(1, 2));
  EXPECT_EQ(read->machines.front().name, "old");
  EXPECT_EQ(read->machines.front().link, 1e6);
  EXPECT_EQ(simulate_sizes(*read, 1).size(), 2U);
}

TEST(ClusterToml, NamesTheLineAndTheWayOut) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no [job]"},
      {"[job]\nchunk = 3\n", "f.toml:2: unknown key 'chunk'; a job has chunks"},
      {"[job]\nchunks = 0\n", "f.toml:2: chunks must be a whole number"},
      {"[job]\nwork = -1\n", "f.toml:2: work must be a number from 0"},
      {"[job]\nwork = 0\n[[machine]]\n", "more than 0 seconds"},
      {"[job]\nsizes = 3\n", "sizes must be a list"},
      {"[job]\n", "no machine is given"},
      {"machine = 3\n[job]\n", "f.toml:1: "},
      {"[job]\n[[machine]]\nspeed = 0\n", "a speed is more than 0"},
      {"[job]\nspeculation = 1\n", "true or false"},
      {"[job\n", "not valid TOML"},
      {"[job]\nwork = 1000\n[[machine]]\ntaken_every = 1\n", "so often"},
  };
  for (const auto& [text, part] : wrong) {
    const auto read = parse_cluster_toml(text, "f.toml");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, ::testing::HasSubstr(part));
    EXPECT_EQ(read.error().kind, ErrorKind::usage);
    EXPECT_THAT(read.error().message, ::testing::Not(::testing::HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace millrace::model
