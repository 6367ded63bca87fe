// Planes that are made from several planes of the frame.
#include "millrace/image/execute/structures_testing.h"
#include "millrace/image/pipeline/presets.h"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

class MixedPlanes : public Structures {
 protected:
  // With as many frames in flight as threads.
  void expect_reference_in_flight(std::vector<TestFrame>& frames, Structure structure, Fusion fusion,
                                  machine::Isa isa) {
    const FrameLayout& layout = frames[0].layout;
    const Schedule schedule{.structure = structure,
                            .fusion = fusion,
                            .tile = {16, 8},
                            .threads = structure_workers,
                            .frames_in_flight = structure_workers,
                            .isa = isa};
    SCOPED_TRACE(fmt::format("{} on {}", to_string(schedule), video::to_string(layout.input)));
    Executor executor(*pool_, library_, *topology_, topology_->cpus());
    const Status set = executor.set(layout, schedule);
    ASSERT_TRUE(set) << set.error().message;
    ASSERT_TRUE(executor.await_kernels());
    std::vector<FrameTask> tasks;
    for (TestFrame& frame : frames) {
      frame.clear();
      tasks.push_back(frame.task);
    }
    ASSERT_TRUE(executor.run(tasks));
    for (const TestFrame& frame : frames)
      ASSERT_EQ(frame.difference(), "");
  }
};

struct MixedCase {
  const char* pipeline;
  video::Chroma chroma;
  int bits;
  bool compiled = false;  // also fused; this needs the compiler and is done for one instruction set only
};

const char* const rgb_to_the_end = "yuv2rgb | [discretise(6), rotate(5)] | blend(screen)";
const MixedCase mixed_cases[] = {
    {rgb_to_the_end, video::Chroma::gray, 8},
    {rgb_to_the_end, video::Chroma::c420, 8},
    {rgb_to_the_end, video::Chroma::c444, 8},
    {"yuv2rgb | discretise(6)", video::Chroma::c444, 8, true},
    {"yuv2rgb | levels(0.1, 0.9, 1.7) | blur | rgb2yuv | saturate(1.5)", video::Chroma::c422, 16},
    {"binary | yuv2rgb | blur", video::Chroma::c420, 8},  // neutral chroma
    // From a second video, and from other frames.
    {"[yuv2rgb, second | yuv2rgb(bt709) | temporal_average(2)] | blend(screen) | rotate(20)",
     video::Chroma::c420, 10},
};

TEST_F(MixedPlanes, haveTheBitsOfTheReferenceInEverySchedule) {
  for (const MixedCase& c : mixed_cases) {
    SCOPED_TRACE(c.pipeline);
    const Pipeline pipeline = load_pipeline(c.pipeline).value();
    const video::FrameFormat format{.width = 37, .height = 29, .chroma = c.chroma, .bits = c.bits};
    const auto layout = lay_out_frame(pipeline, format, Planes::automatic, Samples::codes, format);
    ASSERT_TRUE(layout) << layout.error().message;
    std::vector<TestFrame> frames;
    for (unsigned f = 0; f < structure_workers; ++f)
      frames.emplace_back(*layout, f);
    for (const machine::Isa isa : isas_here()) {
      for (const Structure structure : all_structures()) {
        if (is_one_kernel(structure)) continue;
        expect_reference_in_flight(frames, structure, Fusion::none, isa);
        if (HasFatalFailure()) return;
      }
    }
    if (!c.compiled) continue;
    for (const Structure structure : all_structures()) {
      for (const Fusion fusion : {Fusion::pointwise, Fusion::stencil, Fusion::all}) {
        if (is_one_kernel(structure) && fusion != Fusion::all) continue;
        expect_reference_in_flight(frames, structure, fusion, machine::best_isa());
        if (HasFatalFailure()) return;
      }
    }
  }
}

// New coefficients apply to every plane and to the other planes that it reads.
TEST_F(MixedPlanes, takeNewNumbers) {
  const video::FrameFormat format{.width = 37, .height = 29};
  const auto before = lay_out_frame(*load_pipeline("yuv2rgb | levels(0.1, 0.9)"), format, Planes::automatic);
  const auto after =
      lay_out_frame(*load_pipeline("yuv2rgb(bt709) | levels(0.3, 0.6)"), format, Planes::automatic);
  ASSERT_TRUE(same_stages(*before, *after));
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  const Schedule schedule{.fusion = Fusion::none, .threads = structure_workers, .isa = machine::best_isa()};
  ASSERT_TRUE(executor.set(*before, schedule));
  ASSERT_TRUE(executor.await_kernels());
  executor.update(*after);
  TestFrame frame(*after, 4);
  frame.clear();
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
}

// Two filters with equal arguments are still separate: one of them may change.
TEST_F(MixedPlanes, takeNewNumbersWhereStagesAreShared) {
  const video::FrameFormat format{.width = 37, .height = 29};
  const auto laid_out = [&](const char* pipeline) {
    return lay_out_frame(load_pipeline(pipeline).value(), format, Planes::automatic).value();
  };
  const FrameLayout same = laid_out("yuv2rgb | [levels(0.1, 0.9), levels(0.1, 0.9)] | blend(screen)");
  const FrameLayout other = laid_out("yuv2rgb | [levels(0.1, 0.9), levels(0.3, 0.6)] | blend(screen)");
  ASSERT_TRUE(same_stages(same, other));
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  const Schedule schedule{.structure = Structure::tiled,
                          .fusion = Fusion::none,
                          .tile = {16, 8},
                          .threads = structure_workers,
                          .isa = machine::best_isa()};
  ASSERT_TRUE(executor.set(same, schedule));
  ASSERT_TRUE(executor.await_kernels());
  for (const FrameLayout* now : {&same, &other, &same}) {
    executor.update(*now);
    TestFrame frame(*now, 4);
    frame.clear();
    ASSERT_TRUE(executor.run({&frame.task, 1}));
    EXPECT_EQ(frame.difference(), "");
  }
}

}  // namespace
}  // namespace millrace::image
