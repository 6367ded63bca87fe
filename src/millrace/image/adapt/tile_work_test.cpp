#include "millrace/image/adapt/tile_work.h"
#include "millrace/image/execute/executor.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/machine/report/machine_report.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

Schedule tiled(Size tile) {
  return {.structure = Structure::tiled,
          .fusion = Fusion::none,
          .tile = tile,
          .threads = 1,
          .isa = machine::best_isa()};
}

GroupLayout groups_of(const char* pipeline, Size frame, Size tile) {
  const auto layout = lay_out_frame(*load_pipeline(pipeline), {.width = frame.width, .height = frame.height},
                                    Planes::luma, Samples::floats);
  EXPECT_TRUE(layout) << layout.error().message;
  return group_layout_of(layout->planes.front(), tiled(tile));
}

TEST(TileWork, IsNothingMoreWhereNoPixelNeedsOthers) {
  for (const char* pipeline : {"threshold(0.5) | binary", "discretise(8)", "rotate(30)", "blur"}) {
    for (const Size tile : {Size{64, 16}, Size{0, 32}, Size{128, 128}, Size{0, 0}})
      EXPECT_EQ(tile_work(groups_of(pipeline, {352, 288}, tile), tile), 1) << pipeline;
  }
}

TEST(TileWork, IsTheWholeFrameOnceInOneTile) {
  for (const char* pipeline : {"@A", "@B", "@C", "blur | blur | sobel_x"}) {
    for (const Size tile : {Size{0, 0}, Size{4000, 4000}})
      EXPECT_EQ(tile_work(groups_of(pipeline, {352, 288}, {0, 0}), tile), 1) << pipeline;
  }
}

TEST(TileWork, OfTwoWindowsIsTheRimOfTheFirst) {
  const auto groups = groups_of("blur | blur", {1024, 1024}, {64, 16});
  EXPECT_NEAR(tile_work(groups, {64, 16}), (1 + 66.0 * 18 / (64 * 16)) / 2, 1e-3);
  EXPECT_NEAR(tile_work(groups, {0, 16}), (1 + 1024.0 * 18 / (1024 * 16)) / 2, 1e-3);
}

// Compares predictions with the executor's counts, with equal weights for all stages.
TEST(TileWork, IsWhatTilesAreSeenToCompute) {
  const auto machine = machine::inspect_machine();
  ASSERT_TRUE(machine);
  auto pool = pool::WorkerPool::create(1);
  ASSERT_TRUE(pool);
  KernelLibrary library;
  for (const char* pipeline :
       {"undistort(-0.12) | rotate(6)", "undistort(-0.1) | rotate(45)", "rotate(20) | rotate(30)",
        "blur | sobel_x | blur", "median | blur | [sobel_x, sobel_y] | magnitude"}) {
    const auto layout =
        lay_out_frame(*load_pipeline(pipeline), {.width = 704, .height = 576}, Planes::luma, Samples::floats);
    ASSERT_TRUE(layout);
    for (const Size tile : {Size{256, 64}, Size{128, 128}, Size{0, 32}, Size{64, 64}}) {
      Executor executor(**pool, library, machine->topology, machine->usable.cpus);
      ASSERT_TRUE(executor.set(*layout, tiled(tile)));
      FrameTask task;
      std::vector<PlaneBuffer> planes;
      planes.reserve(6);
      for (const PlaneLayout& plane : layout->planes) {
        task.sources.push_back(planes.emplace_back(plane.source.size, plane.source_type).view());
        task.destinations.push_back(planes.emplace_back(plane.output.size, plane.output_type).view());
      }
      ASSERT_TRUE(executor.run({&task, 1}));
      double computed = 0;
      double required = 0;
      for (const StageReport& report : executor.stages()) {
        if (report.plane != 0) continue;
        computed += static_cast<double>(report.pixels_computed);
        required += static_cast<double>(report.pixels_required);
      }
      const double seen = computed / required;
      EXPECT_NEAR(tile_work(groups_of(pipeline, {704, 576}, tile), tile), seen, 0.25 * seen)
          << pipeline << " " << to_string(tiled(tile));
    }
  }
}

}  // namespace
}  // namespace millrace::image
