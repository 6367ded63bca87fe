// Tests what backward_store writes. Its output is tested with all other structures.
#include "millrace/image/execute/backward.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/scalar_reference.h"
#include "millrace/pool/worker_pool.h"

#include <bit>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

constexpr int backward_workers = 2;

class BackwardStore : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto pipeline = load_pipeline(GetParam());
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    const auto layout = lay_out_frame(*pipeline, {.width = 61, .height = 43, .chroma = video::Chroma::gray},
                                      Planes::all, Samples::floats);
    ASSERT_TRUE(layout) << layout.error().message;
    groups_ = std::make_shared<FrameGroups>();
    groups_->push_back(group_layout_of(layout->planes[0], {.structure = Structure::backward_store}));
  }

  [[nodiscard]] const GroupLayout& plane() const { return groups_->front(); }

  std::shared_ptr<FrameGroups> groups_;
};

TEST_P(BackwardStore, writesEveryStageOnce) {
  std::vector<int> times(plane().layout.stages.size());
  for (const Group& group : plane().groups) {
    ++times[group.stages.back()];
    for (int s : group.spec.stored)
      ++times[group.stages[s]];
  }
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
}

TEST_P(BackwardStore, writesWhatTheReferenceComputesWhereverTheOutputNeedsIt) {
  KernelLibrary library;
  for (Group& group : groups_->front().groups) {
    auto kernel = library.wait(group.spec, machine::best_isa());
    ASSERT_TRUE(kernel) << kernel.error().message;
    group.kernel = *kernel;
  }
  const PlaneLayout& layout = plane().layout;
  PlaneBuffer source(layout.source.size, layout.source_type);
  PlaneBuffer destination(layout.output.size, layout.output_type);
  ScalarImage image{.size = layout.source.size, .pixels = {}};
  std::mt19937 random(11);
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x)
      image.pixels.push_back(source.view().pixel<float>(x, y) = static_cast<float>(random() % 256) / 255);
  }
  const std::vector<ScalarImage> expected = scalar_stages(layout, std::span(&image, 1));

  auto pool = pool::WorkerPool::create(backward_workers);
  ASSERT_TRUE(pool) << pool.error().message;
  pool::PoolTeam team = (*pool)->team();
  BackwardRunner runner(groups_, backward_workers, {16, 8});
  const Status done =
      runner.run({.sources = {source.view()}, .destinations = {destination.view()}}, team, {});
  ASSERT_TRUE(done) << done.error().message;

  const std::vector<Rect> needed = required_regions(layout, whole(layout.output.size));
  for (std::size_t s = 0; s + 1 < layout.stages.size(); ++s) {
    SCOPED_TRACE(fmt::format("stage {}: {}", s, layout.stages[s].filter->name));
    const PixelView written = runner.written(0, static_cast<int>(s));
    ASSERT_FALSE(needed[s].empty());
    ASSERT_EQ(intersection(needed[s], written.covers), needed[s]);
    for (int y = needed[s].y0; y < needed[s].y1; ++y) {
      for (int x = needed[s].x0; x < needed[s].x1; ++x) {
        const float wanted = expected[s].at(x, y);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wanted),
                  std::bit_cast<std::uint32_t>(*reinterpret_cast<const float*>(written.at(x, y))))
            << x << ", " << y;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Image, BackwardStore,
                         testing::Values("@A", "@B", "@D", "@E", "@F", "@G",
                                         "[rotate(10) | blur, undistort(-0.4)] | magnitude | crop(0.7)",
                                         "rotate(20) | [binary, discretise(4)] | magnitude | crop(0.5)",
                                         "discretise(9) | [rotate(10), binary] | magnitude"),
                         [](const auto& instance) { return fmt::format("pipeline{}", instance.index); });

}  // namespace
}  // namespace millrace::image
