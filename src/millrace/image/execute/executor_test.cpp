// Tests how an executor handles schedules and coefficients: stand-ins, changes between frames, and refusals.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/execute/structures_testing.h"
#include "millrace/image/kernel/kernel_compiler_testing.h"
#include "millrace/image/pipeline/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

class ExecutorTest : public Structures {};

TEST_F(ExecutorTest, newNumbersReachThePlanesThatAreComputed) {
  const video::FrameFormat format{.width = 37, .height = 29};
  const auto layout = lay_out_frame(*load_pipeline("rotate(10) | binary"), format, Planes::automatic);
  const auto changed = lay_out_frame(*load_pipeline("rotate(77) | binary"), format, Planes::automatic);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  ASSERT_TRUE(executor.set(*layout, {.threads = structure_workers, .isa = machine::best_isa()}));
  ASSERT_TRUE(executor.await_kernels());
  executor.update(*changed);
  TestFrame frame(*changed, 4);
  frame.clear();
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
}

// New windows and tables differ in size, and more of the frame is needed than before.
TEST_F(ExecutorTest, newNumbersMayMakeWindowsLargerOrSmaller) {
  const video::FrameFormat format{.width = 61, .height = 47};
  const auto small =
      lay_out_frame(*load_pipeline("gaussian(0.6) | resize(30, 20, nearest) | box(1)"), format);
  const auto large = lay_out_frame(*load_pipeline("gaussian(4) | resize(30, 20, lanczos3) | box(7)"), format);
  ASSERT_TRUE(same_stages(*small, *large));
  for (Structure structure : all_structures()) {
    if (is_one_kernel(structure)) continue;  // these keep nothing between stages
    for (const Size tile : {Size{16, 8}, Size{0, 4}}) {
      Executor executor(*pool_, library_, *topology_, topology_->cpus());
      ASSERT_TRUE(executor.set(*small, {.structure = structure,
                                        .fusion = Fusion::none,
                                        .tile = tile,
                                        .threads = 2,
                                        .isa = machine::best_isa()}));
      ASSERT_TRUE(executor.await_kernels());
      for (const FrameLayout& now : {*small, *large, *small}) {
        executor.update(now);
        TestFrame frame(now, 4);
        frame.clear();
        ASSERT_TRUE(executor.run({&frame.task, 1}));
        EXPECT_EQ(frame.difference(), "") << name_of(structure);
      }
    }
  }
}

// If memory was allocated for fewer workers than take part, the result is an error and not a stray write.
TEST_F(ExecutorTest, aTeamLargerThanTheRunnerWasMadeForIsRefused) {
  const auto layout = lay_out_frame(*load_pipeline("blur"), {.width = 16, .height = 16}, Planes::all);
  TestFrame frame(*layout, 1);
  auto groups = std::make_shared<FrameGroups>();
  const Schedule schedule{.threads = 2, .isa = machine::best_isa()};
  for (const PlaneLayout& plane : layout->planes)
    groups->push_back(group_layout_of(plane, schedule));
  for (Structure structure : all_structures()) {
    const auto runner = make_runner({.structure = structure, .threads = 2}, groups);
    pool::PoolTeam team = pool_->team().last(3);
    const Status done = runner->run(frame.task, team, {});
    ASSERT_FALSE(done) << name_of(structure);
    EXPECT_EQ(done.error().message, "a team of 3 came to memory for 2 workers");
  }
}

TEST_F(ExecutorTest, aStandInRunsUntilTheFusedKernelsAreThere) {
  const auto layout =
      lay_out_frame(*load_pipeline("blur | sobel_x"), {.width = 40, .height = 30}, Planes::all);
  TestFrame frame(*layout, 5);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  const Schedule wanted{.structure = Structure::backward, .threads = 2, .isa = machine::best_isa()};
  ASSERT_TRUE(executor.set(*layout, wanted));
  EXPECT_TRUE(executor.stand_in());
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
  ASSERT_TRUE(executor.await_kernels());
  EXPECT_FALSE(executor.stand_in());
  EXPECT_EQ(executor.in_use(), wanted);
  frame.clear();
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
}

TEST_F(ExecutorTest, framesInFlightThatTakeTooMuchMemoryAreRefusedAndWhatRanBeforeGoesOn) {
  const auto layout = lay_out_frame(*load_pipeline("sobel_x"), {.width = 40, .height = 30}, Planes::all);
  TestFrame frame(*layout, 5);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  executor.allow_bytes(1);
  const Schedule one{.structure = Structure::backward_cached, .threads = 2, .isa = machine::best_isa()};
  ASSERT_TRUE(executor.set(*layout, one));
  const Schedule before = executor.in_use();  // a stand-in if no kernels are cached
  Schedule two = one;
  two.frames_in_flight = 2;
  const Status refused = executor.use(two);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("of 2 frames in flight needs"));
  EXPECT_EQ(executor.in_use(), before);
  ASSERT_TRUE(executor.await_kernels());
  EXPECT_EQ(executor.in_use(), one);
  EXPECT_FALSE(executor.use(two));
  EXPECT_EQ(executor.in_use(), one);
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
}

TEST_F(ExecutorTest, aScheduleWhoseKernelCannotBeCompiledRunsItsStandIn) {
  const auto layout =
      lay_out_frame(*load_pipeline("sobel_x"), {.width = 40, .height = 30, .chroma = video::Chroma::gray});
  TestFrame frame(*layout, 5);
  TemporaryFolder folder;
  KernelLibrary library({.cache = {}, .compiler = {.program = stand_in(folder, "crashes")}});
  Executor executor(*pool_, library, *topology_, topology_->cpus());
  const Schedule broken{.structure = Structure::backward, .threads = 1, .isa = machine::best_isa()};
  for (const Group& group : group_layout_of(layout->planes[0], broken).groups)
    ASSERT_FALSE(library.wait(group.spec, machine::best_isa()));

  ASSERT_TRUE(executor.set(*layout, broken));
  EXPECT_TRUE(executor.stand_in());
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
}

TEST_F(ExecutorTest, impossibleSchedulesAreRefusedInOneLine) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 16, .height = 16}, Planes::all);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  const Status too_many =
      executor.set(*layout, {.threads = structure_workers + 1, .isa = machine::best_isa()});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().kind, ErrorKind::usage);
  const Status in_flight =
      executor.set(*layout, {.threads = 1, .frames_in_flight = 2, .isa = machine::best_isa()});
  ASSERT_FALSE(in_flight);
  EXPECT_EQ(in_flight.error().message.find('\n'), std::string::npos);

  std::string long_chain = "blur";
  for (int i = 0; i < 20; ++i)
    long_chain += " | blur";
  const auto long_plan = lay_out_frame(*load_pipeline(long_chain), {.width = 16, .height = 16}, Planes::all);
  const Status too_long =
      executor.set(*long_plan, {.structure = Structure::backward, .threads = 1, .isa = machine::best_isa()});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace millrace::image
