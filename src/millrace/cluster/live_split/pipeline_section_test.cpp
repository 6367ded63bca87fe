// Consecutive sections give the same bits as one run over the whole pipeline.
#include "millrace/cluster/live_split/pipeline_section.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/test_source.h"
#include "millrace/video/y4m/y4m_frame.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::cluster {
namespace {

using Frames = std::vector<video::Frame>;

// Shared by all tests: a process has one pool.
run::ExecutionContext& context() {
  static const machine::MachineReport machine = *machine::inspect_machine();
  static const auto context = *run::ExecutionContext::make(machine, 1);
  return *context;
}

Frames read_all(const std::string& source) {
  const auto reader = *video::open_test_source(source, {});
  Frames frames;
  while (auto frame = *reader->next())
    frames.push_back(*std::move(frame));
  return frames;
}

Frames made_of(const Frames& frames, const video::FrameFormat& format, run::VideoRunOptions options) {
  std::size_t given = 0;
  const auto next = [&](const std::stop_token&) -> Result<std::optional<video::Frame>> {
    if (given == frames.size()) return std::nullopt;
    return std::optional(frames[given++].clone());
  };
  Frames made;
  options.schedule = image::Schedule{.isa = machine::best_isa()};
  run::VideoRun video(context(), run::frames_source(format, next),
                      run::frames_sink([&](const video::Frame& frame) -> Status {
                        made.push_back(frame.clone());
                        return {};
                      }),
                      std::move(options));
  const Status done = video.run();
  EXPECT_TRUE(done) << done.error().message;
  return made;
}

std::vector<std::vector<std::byte>> bytes_of(const Frames& frames) {
  std::vector<std::vector<std::byte>> all;
  for (const video::Frame& frame : frames)
    video::pack_y4m_frame(frame, all.emplace_back());
  return all;
}

// Repeats the first and the last frame once for each frame that filters read beyond them.
Frames standing_still(const Frames& frames, const image::NeighbouringFrames& around) {
  Frames all;
  for (int i = 0; i < around.before; ++i)
    all.push_back(frames.front().clone());
  for (const video::Frame& frame : frames)
    all.push_back(frame.clone());
  for (int i = 0; i < around.after; ++i)
    all.push_back(frames.back().clone());
  return all;
}

struct Case {
  const char* pipeline;
  const char* source;
  image::Planes planes = image::Planes::automatic;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.pipeline << " of " << each.source << ", planes " << image::name_of(each.planes);
}

class Sections : public ::testing::TestWithParam<Case> {};

TEST_P(Sections, TogetherMakeWhatOneRunMakesWhereverTheCutsAre) {
  const Case& each = GetParam();
  const image::Pipeline pipeline = image::parse_pipeline(each.pipeline).value();
  const Frames frames = read_all(each.source);
  const video::FrameFormat format = frames.front().format();
  const Frames whole = made_of(frames, format, {.pipeline = pipeline, .planes = each.planes});
  ASSERT_EQ(whole.size(), frames.size());
  const std::vector<std::size_t> places = section_places(pipeline);
  ASSERT_FALSE(places.empty());
  for (std::uint64_t chosen = 1; chosen < std::uint64_t{1} << places.size(); ++chosen) {
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < places.size(); ++i)
      if ((chosen >> i & 1U) != 0) begins.push_back(places[i]);
    SCOPED_TRACE(::testing::PrintToString(begins));
    const auto sections = take_apart(pipeline, begins, format, each.planes);
    ASSERT_TRUE(sections) << sections.error().message;
    Frames passed = standing_still(frames, image::neighbours_of(pipeline));
    for (const PipelineSection& section : *sections) {
      passed = made_of(passed, section.input,
                       {.pipeline = section.pipeline,
                        .planes = each.planes,
                        .made = section.output.forms,
                        .around = section.neighbours});
      ASSERT_FALSE(passed.empty());
      EXPECT_EQ(passed.front().format(), section.output);
    }
    EXPECT_EQ(passed.front().format(), whole.front().format());
    EXPECT_EQ(bytes_of(passed), bytes_of(whole));
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfPipelines, Sections,
    ::testing::Values(
        Case{"blur | unsharp(1, 0.5) | rotate(7)", "test:33x21@2"},
        Case{"blur | unsharp(2, 1.5) | levels(0.1, 0.8, 1.3)", "test:32x24@2,444p10"},
        Case{"median | flip(horizontal) | crop(0.6) | threshold(0.4)", "test:33x21@2"},
        // Filters on codes round, and whether they are used depends on the following stages, plane by plane.
        Case{"blur | median | flip(horizontal)", "test:33x21@2"},
        Case{"median | blur | median | threshold(0.4)", "test:33x21@2"},
        Case{"pad(3, 2, 1, 4, 0.3) | median | blur | blur", "test:33x21@2"},
        Case{"box(2) | crop(0.6) | resize(20, 16)", "test:33x21@2"},
        Case{"blur | saturate(1.7) | threshold(0.4) | median", "test:33x21@2"},
        Case{"blur | median | saturate(0.4)", "test:32x24@2,422p10"},
        // There is no place to split between RGB filters.
        Case{"blur | median | yuv2rgb | blur | median | rgb2yuv | blur | median", "test:32x24@2"},
        Case{"sobel_x | median | yuv2rgb | blur", "test:32x24@2,444"},
        Case{"bilateral(1.5, 0.1) | yuv2rgb | levels(0.1, 0.8, 1.3) | rgb2yuv | sobel_x", "test:32x24@2"},
        // Chroma that became neutral stays so, whatever follows; and luma may be filtered alone.
        Case{"sobel_x | levels(0.1, 0.8, 1.3) | blur", "test:32x24@2"},
        Case{"sobel_x | levels(0.1, 0.8, 1.3) | blur", "test:32x24@2", image::Planes::all},
        Case{"blur | rotate(9) | sobel_x", "test:32x24@2,422", image::Planes::luma},
        Case{"saturate(1.7) | blur | saturate(0.5)", "test:32x24@2"},
        Case{"blur | sobel_x | threshold(0.3)", "test:32x24@2,gray"},
        Case{"blur | [sobel_x, sobel_y] | magnitude | threshold(0.4)", "test:32x24@2"},
        Case{"resize(48, 40) | blur | resize(16, 12)", "test:32x24@2,422"},
        Case{"pad(3, 2, 1, 4) | rotate(20) | gaussian(1.5)", "test:32x24@2"},
        // Chained temporal filters: the video's end frames are repeated, not the first filter's output.
        Case{"difference(3) | temporal_average(3) | temporal_median", "test:16x16@6"},
        Case{"temporal_median(2) | blur | temporal_average(4)", "test:16x16@1"}));

}  // namespace
}  // namespace millrace::cluster
