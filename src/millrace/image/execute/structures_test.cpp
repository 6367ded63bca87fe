// Every schedule gives the bits of the scalar reference.
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/image/execute/structures_testing.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/pipeline/pipeline_testing.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/machine/limits/usable_cpus.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

constexpr int workers = structure_workers;

// Tile sizes rotate, so that each meets every structure, fusion and size in some pipeline. The widest
// instruction set tests two at a time.
std::size_t tiles_at_a_time(machine::Isa isa) {
#ifdef MILLRACE_SANITIZED
  static_cast<void>(isa);
  return 1;
#else
  return isa == machine::best_isa() ? 2 : 1;
#endif
}

// Presets, and graphs that they do not cover: gathers on gathers, fan-outs of gathers, crop first, single
// stages.
const char* const pipelines[] = {
    "@A", "@B", "@C", "@D", "@E", "@F", "@G", "rotate(200) | undistort(0.3, -0.2)",
    "[rotate(10) | blur, undistort(-0.4)] | magnitude | crop(0.7)", "crop(0.5) | blur | blur | rotate(-95)",
    "blur | [input, input] | magnitude", "threshold(0.4, keep=below)",
    // Tables and windows of any length, and other sizes.
    "unsharp(1.2, 2) | levels(0.1, 0.9, 1.7)",
    "convolve([0, 1, 0, 2, -3, 1, 0, 5, 0]) | median(2) | morphology(open, 3) | rotate(20)",
    "blur | resize(43, 21, lanczos3) | box(2) | flip(horizontal)",
    "pad(3, 5, 2, 1, 0.5) | median | transpose | crop_at(1, 2, 3, 4)",
    "[gaussian(0.7) | curve([0, 0, 0.4, 0.6, 1, 1]), flip(both)] | magnitude | resize(9, 50, area)",
    // Several source frames, some of them read twice.
    "blur | temporal_median | difference(2)", "deinterlace | deinterlace(bob, bottom) | resize(0, 30)",
    "perspective([4, 2, 60, 6, 1, 40, 66, 45]) | blur",
    "[temporal_average(5) | gaussian(0.8), rotate(15)] | magnitude",
    // A second video with the same or another size.
    "[blur, second | temporal_average(2)] | blend(overlay, 0.7) | [rotate(5), second] | blend(screen)",
    "[input, second | blur] | overlay(-3, 5, 0.6) | bilateral(1, 0.2)"};

// With a second video of the same format, or of another size if the pipeline accepts it.
Result<FrameLayout> lay_out_beside(const Pipeline& pipeline, const video::FrameFormat& format, Planes planes,
                                   Samples samples) {
  if (!reads_second(pipeline)) return lay_out_frame(pipeline, format, planes, samples);
  video::FrameFormat second = format;
  second.width = format.width * 2 / 3 + 1;
  second.height = format.height / 2 + 1;
  const auto layout = lay_out_frame(pipeline, format, planes, samples, second);
  return layout ? layout : lay_out_frame(pipeline, format, planes, samples, format);
}

class EveryPipeline : public Structures,
                      public ::testing::WithParamInterface<std::tuple<const char*, machine::Isa>> {};

TEST_P(EveryPipeline, hasTheBitsOfTheReferenceInEverySchedule) {
  MILLRACE_NOT_FOR_RACES();
  const auto [text, isa] = GetParam();
  const auto pipeline = load_pipeline(text);
  ASSERT_TRUE(pipeline) << pipeline.error().message;

  const Size sizes[] = {{1, 1}, {1, 9}, {13, 1}, {2, 2}, {17, 33}, {64, 48}, {131, 70}};
  const Size tiles[] = {{128, 32}, {16, 8}, {5, 3}, {0, 0}, {0, 4}, {24, 0}};
  auto seed =
      static_cast<unsigned>(std::string_view(text).size());  // so that pipelines begin with different tiles
  for (const Size size : sizes) {
    const video::FrameFormat format{
        .width = size.width, .height = size.height, .chroma = video::Chroma::gray};
    const auto layout = lay_out_beside(*pipeline, format, Planes::all, Samples::floats);
    if (!layout) continue;  // crop leaves nothing of the smallest size
    TestFrame frame(*layout, ++seed);
    for (Structure structure : all_structures()) {
      for (Fusion fusion : all_fusions()) {
        const bool one_kernel = structure == Structure::backward || structure == Structure::backward_store;
        if (one_kernel && (fusion != Fusion::all || !fits_one_kernel(layout->planes[0]))) continue;
        for (int threads : {1, workers}) {
          for (std::size_t t = 0; t < tiles_at_a_time(isa); ++t) {
            const Size tile = tiles[seed++ % std::size(tiles)];
            expect_reference(
                frame,
                {.structure = structure, .fusion = fusion, .tile = tile, .threads = threads, .isa = isa});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Image, EveryPipeline,
                         ::testing::Combine(::testing::ValuesIn(pipelines), ::testing::ValuesIn(isas_here())),
                         [](const auto& instance) {
                           const auto index = instance.index / isas_here().size();
                           return fmt::format("pipeline{}_{}", index,
                                              machine::name_of(std::get<1>(instance.param)));
                         });

// A frame in memory that is full of `junk` wherever it is not the source. Destinations have the sizes of the
// output format, as those of a run do.
struct FrameInJunk {
  std::vector<PlaneBuffer> sources;
  std::vector<PlaneBuffer> destinations;
  FrameTask task;

  FrameInJunk(const FrameLayout& layout, std::uint8_t junk) {
    for (const SourceFrame& from : layout.sources) {
      const video::FrameFormat& format = from.second ? *layout.second : layout.input;
      for (int p = 0; p < video::plane_count(format.chroma); ++p) {
        const Size size = plane_geometry(format, p).size;
        const PixelView view = in_junk(size, junk, sources);
        for (int y = 0; y < size.height; ++y)
          for (int x = 0; x < size.width; ++x)
            view.pixel<std::uint8_t>(x, y) =
                static_cast<std::uint8_t>(x * 31 + y * 57 + p * 101 + from.offset);
        task.sources.push_back(view);
      }
    }
    for (int p = 0; p < video::plane_count(layout.output.chroma); ++p)
      task.destinations.push_back(in_junk(
          {video::plane_width(layout.output, p), video::plane_height(layout.output, p)}, junk, destinations));
  }

  [[nodiscard]] std::vector<std::vector<std::uint8_t>> made() const {
    std::vector<std::vector<std::uint8_t>> planes;
    for (const PixelView& view : task.destinations) {
      std::vector<std::uint8_t>& plane = planes.emplace_back();
      for (int y = 0; y < view.covers.height(); ++y)
        for (int x = 0; x < view.covers.width(); ++x)
          plane.push_back(view.pixel<std::uint8_t>(x, y));
    }
    return planes;
  }

 private:
  static PixelView in_junk(Size size, std::uint8_t junk, std::vector<PlaneBuffer>& buffers) {
    constexpr int margin = 8;
    const Size wider{size.width + margin, size.height + margin};
    const PlaneBuffer& buffer = buffers.emplace_back(wider, ElementType::u8);
    for (int y = 0; y < wider.height; ++y)
      std::memset(buffer.view().at(0, y), junk, static_cast<std::size_t>(wider.width));
    return buffer.view(whole(size));
  }
};

class WhatMemoryHeld : public Structures {};

TEST_F(WhatMemoryHeld, DoesNotShowInTheOutputOfAPipelineThatChangesSizes) {
  Random random(11);
  const char* const resizing[] = {"resize(43, 21)",  "resize(23, 40, area)", "crop(0.6)",
                                  "pad(3, 5, 2, 1)", "crop_at(1, 2, 9, 7)",  "transpose",
                                  "resize(0, 30)"};
  const char* const others[] = {"blur",          "unsharp(1.2, 2)", "levels(0.1, 0.9)", "morphology(open, 1)",
                                "rotate(20)",    "saturate(1.5)",   "threshold(0.4)",   "discretise(6)",
                                "flip(vertical)"};
  for (int round = 0; round < 40; ++round) {
    std::string text = others[below(random, std::size(others))];
    for (int stage = 0; stage < 2; ++stage)
      text += fmt::format(" | {} | {}", resizing[below(random, std::size(resizing))],
                          others[below(random, std::size(others))]);
    const video::Chroma chromas[] = {video::Chroma::c420, video::Chroma::c422, video::Chroma::c444};
    const video::FrameFormat format{.width = 37, .height = 29, .chroma = chromas[below(random, 3)]};
    const Planes planes[] = {Planes::automatic, Planes::luma};
    const auto layout =
        lay_out_frame(load_pipeline(text).value(), format, planes[below(random, std::size(planes))]);
    if (!layout) continue;
    SCOPED_TRACE(fmt::format("{} on {}", text, video::to_string(format)));
    std::optional<std::vector<std::vector<std::uint8_t>>> first;
    for (Structure structure : all_structures()) {
      if (is_one_kernel(structure)) continue;
      const Schedule schedule{.structure = structure,
                              .fusion = Fusion::none,  // needs no compiler
                              .tile = {16, 8},
                              .threads = workers,
                              .isa = machine::best_isa()};
      for (const std::uint8_t junk : {0x5a, 0xc3}) {
        FrameInJunk frame(*layout, junk);
        Executor executor(*pool_, library_, *topology_, topology_->cpus());
        ASSERT_TRUE(executor.set(*layout, schedule));
        ASSERT_TRUE(executor.run({&frame.task, 1}));
        const auto made = frame.made();
        if (!first) first = made;
        ASSERT_TRUE(made == *first) << to_string(schedule) << " with " << int{junk} << " in memory";
      }
    }
  }
}

// Combinations of two filters in one kernel: loops, stencils and gathers, each reading another; some are read
// twice, or stored too.
const char* const firsts[] = {"unsharp(1.2, 2)", "convolve([0, 1, 0, 2, -3, 1, 0, 5, 0])", "resize(23, 40)"};
const char* const seconds[] = {"levels(0.2, 0.7, 0.6)", "blur", "convolve([1, 2, 0, 2, 3, 1, 0, 5, 7])",
                               "resize(50, 19, lanczos3)", "rotate(20)"};

class EveryPair : public Structures, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryPair, hasTheBitsOfTheReferenceInEveryStructure) {
  const video::FrameFormat format{.width = 37, .height = 29, .chroma = video::Chroma::gray};
  for (const char* second : seconds) {
    const auto pipeline = load_pipeline(fmt::format("{} | {}", GetParam(), second));
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    const auto layout = lay_out_frame(*pipeline, format);
    ASSERT_TRUE(layout) << layout.error().message;
    TestFrame frame(*layout, 5);
    SCOPED_TRACE(to_string(*pipeline));
    for (Structure structure : all_structures()) {
      if (is_one_kernel(structure) && !fits_one_kernel(layout->planes[0])) continue;
      expect_reference(frame, {.structure = structure,
                               .fusion = Fusion::all,
                               .tile = {16, 8},
                               .threads = 2,
                               .isa = machine::best_isa()});
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Image, EveryPair, ::testing::ValuesIn(firsts),
                         [](const auto& instance) { return fmt::format("first{}", instance.index); });

class EveryFormat : public Structures,
                    public ::testing::WithParamInterface<std::tuple<video::Chroma, int>> {};

struct FormatCase {
  const char* pipeline;
  bool one_kernel;  // also in structures with one kernel, whose compilation dominates the test
};
const FormatCase format_cases[] = {
    {"@B", true},
    {"blur | threshold(0.3) | crop(0.7)", true},
    {"temporal_average(4) | difference | blur", false},
    {"[input, second] | overlay(5, -3, 0.4) | blur", false},
    {"resize(24, 31, bilinear) | gaussian(1) | saturate(1.5) | pad(4, 2, 2, 2)", false}};

bool compiles_for(video::Chroma chroma, int bits) {
#ifdef MILLRACE_SANITIZED
  return chroma == video::Chroma::c420 && bits == 8;
#else
  return chroma == video::Chroma::c420 && bits != 16;
#endif
}

// From code values to code values, through the conversions at the ends, including odd chroma sizes.
TEST_P(EveryFormat, hasTheBitsOfTheReferenceInEveryStructure) {
  MILLRACE_NOT_FOR_RACES();
  const auto [chroma, bits] = GetParam();
  for (const auto& [text, in_one_kernel] : format_cases) {
    const auto pipeline = load_pipeline(text);
    ASSERT_TRUE(pipeline);
    for (const Planes planes : {Planes::automatic, Planes::all, Planes::luma}) {
      const video::FrameFormat format{.width = 37, .height = 29, .chroma = chroma, .bits = bits};
      const auto layout = lay_out_beside(*pipeline, format, planes, Samples::codes);
      ASSERT_TRUE(layout) << layout.error().message;
      TestFrame frame(*layout, 7);
      for (Structure structure : all_structures()) {
        for (Fusion fusion : {Fusion::none, Fusion::pointwise}) {
          const bool one_kernel = structure == Structure::backward || structure == Structure::backward_store;
          if (one_kernel && !(in_one_kernel && compiles_for(chroma, bits))) continue;
          expect_reference(frame, {.structure = structure,
                                   .fusion = fusion,
                                   .tile = {16, 8},
                                   .threads = 2,
                                   .isa = machine::best_isa()});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

std::vector<std::tuple<video::Chroma, int>> every_format() {
  using video::Chroma;
#ifdef MILLRACE_SANITIZED
  return {{Chroma::gray, 16}, {Chroma::c420, 8}, {Chroma::c422, 16}, {Chroma::c444, 8}};
#else
  std::vector<std::tuple<Chroma, int>> all;
  for (const Chroma chroma : {Chroma::gray, Chroma::c420, Chroma::c422, Chroma::c444}) {
    for (const int bits : {8, 10, 16})
      all.emplace_back(chroma, bits);
  }
  return all;
#endif
}

INSTANTIATE_TEST_SUITE_P(Image, EveryFormat, ::testing::ValuesIn(every_format()));

// Filters that work on code values directly, and filters that become a table of codes.
TEST_F(Structures, codesHaveTheBitsOfTheReferenceInEveryInstructionSet) {
  const char* const on_codes[] = {
      "median | median(2)", "morphology(open, 3)", "transpose | flip(horizontal)",
      "levels(0.1, 0.9, 2.2) | threshold(0.3)", "flip(both) | pad(3, 5, 2, 1, 0.3) | morphology(dilate)",
      // Alternating codes and floats, all of one size.
      "flip(vertical) | blur | median | gaussian(1) | transpose | transpose | blur",
      // Sums of codes.
      "transpose(counterclockwise) | blur", "median | box(2)", "convolve([0, 1, 0, 2, -3, 1, 0, 5, 0])",
      "deinterlace", "deinterlace(bob, bottom)", "pad(0, 1, 3, 0, 1) | resize(152, 5, area)",
      "crop_at(1, 0, 300, 9) | resize(100, 3, area)",
      "crop_at(0, 1, 300, 8) | resize(75, 2, area) | flip(both)", "[input, second] | overlay(-3, 5)",
      "[input, flip(both)] | blend(average)", "[input, flip(both)] | blend(difference)", "resize(450, 13)",
      "resize(120, 5, lanczos3)", "resize(333, 4, area) | flip(vertical)", "resize(17, 30, bilinear)",
      "resize(2, 2, lanczos3)", "[input, flip(both)] | blend(grain_extract)",
      "[input, flip(both)] | blend(screen)"};
  for (const char* text : on_codes) {
    SCOPED_TRACE(text);
    for (const int bits : {8, 10}) {
      const video::FrameFormat format{.width = 301, .height = 9, .chroma = video::Chroma::gray, .bits = bits};
      TestFrame frame(*lay_out_beside(*load_pipeline(text), format, Planes::all, Samples::codes), 11);
      for (const machine::Isa isa : isas_here()) {
        for (Structure structure : all_structures()) {
          // Limits what is compiled for one kernel.
          if (is_one_kernel(structure) && !(text == on_codes[2] && isa == machine::best_isa())) continue;
          expect_reference(frame, {.structure = structure,
                                   .fusion = Fusion::none,
                                   .tile = structure == Structure::tiled ? Size{150, 8} : Size{},
                                   .threads = 2,
                                   .isa = isa});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  // Without conversions between them, so the whole chain is one table.
  const video::FrameFormat format{.width = 301, .height = 9, .chroma = video::Chroma::gray};
  TestFrame frame(*lay_out_frame(*load_pipeline("levels(0.1, 0.9, 2.2) | threshold(0.3)"), format), 11);
  for (const machine::Isa isa : isas_here())
    expect_reference(frame, {.structure = Structure::tiled, .tile = {150, 8}, .threads = 2, .isa = isa});
}

// The default of `millrace run @A`: edges are gray, and cost only the time for luma.
TEST_F(Structures, noKernelRunsOverNeutralPlanesAndTheyAreGrayToTheBit) {
  for (const int bits : {8, 10}) {
    const auto layout =
        lay_out_frame(*load_pipeline("@A"), {.width = 37, .height = 29, .bits = bits}, Planes::automatic);
    TestFrame frame(*layout, 3);
    for (Structure structure : all_structures()) {
      Executor executor(*pool_, library_, *topology_, topology_->cpus());
      ASSERT_TRUE(executor.set(
          *layout,
          {.structure = structure, .tile = {16, 8}, .threads = workers, .isa = machine::best_isa()}));
      ASSERT_TRUE(executor.await_kernels());
      frame.clear();
      ASSERT_TRUE(executor.run({&frame.task, 1}));
      EXPECT_EQ(frame.difference(), "") << name_of(structure);
      for (const PixelView& chroma : {frame.task.destinations[1], frame.task.destinations[2]}) {
        for (int y = 0; y < 15; ++y) {
          for (int x = 0; x < 19; ++x) {
            ASSERT_EQ(bits == 8 ? chroma.pixel<std::uint8_t>(x, y) : chroma.pixel<std::uint16_t>(x, y),
                      bits == 8 ? 128 : 512)
                << name_of(structure);
          }
        }
      }
      for (const StageReport& stage : executor.stages())
        EXPECT_EQ(stage.plane, 0) << stage.stages;
    }
  }
}

TEST_F(Structures, onePixelGranulesHaveTheBitsOfTheReference) {
  const auto layout =
      lay_out_frame(*load_pipeline("@A"), {.width = 19, .height = 11, .chroma = video::Chroma::gray},
                    Planes::all, Samples::floats);
  TestFrame frame(*layout, 3);
  for (Fusion fusion : {Fusion::none, Fusion::pointwise}) {
    expect_reference(frame, {.structure = Structure::backward_cached,
                             .fusion = fusion,
                             .tile = {1, 1},
                             .threads = 2,
                             .isa = machine::best_isa()});
  }
}

// At the end of a stream there are fewer frames than may be in flight. The threads are then divided among the
// remaining frames, in larger teams.
TEST_F(Structures, framesInFlightAreEachProcessedWholeHoweverManyAreLeft) {
  const auto layout =
      lay_out_frame(*load_pipeline("blur | threshold(0.3)"), {.width = 40, .height = 26}, Planes::all);
  ASSERT_TRUE(layout);
  constexpr int most = 8;
  std::vector<TestFrame> frames;
  for (int f = 0; f < 2 * most + 1; ++f)
    frames.emplace_back(*layout, static_cast<unsigned>(f));
  for (int threads = 1; threads <= most; ++threads) {
    auto pool = pool::WorkerPool::create(threads);
    ASSERT_TRUE(pool) << pool.error().message;
    for (int in_flight = 1; in_flight <= threads; ++in_flight) {
      for (Structure structure : all_structures()) {
        Executor executor(**pool, library_, *topology_, topology_->cpus());
        ASSERT_TRUE(executor.set(*layout, {.structure = structure,
                                           .fusion = Fusion::none,
                                           .tile = {16, 16},
                                           .threads = threads,
                                           .frames_in_flight = in_flight,
                                           .isa = machine::best_isa()}));
        ASSERT_TRUE(executor.await_kernels());
        // Two rounds and one more frame, then ever fewer.
        for (int left = 2 * in_flight + 1; left >= 1; left -= left > in_flight ? in_flight + 1 : 1) {
          SCOPED_TRACE(fmt::format("{}, {} threads, {} frames in flight, {} left", name_of(structure),
                                   threads, in_flight, left));
          std::vector<FrameTask> tasks;
          for (auto frame = frames.begin(); frame != frames.begin() + left; ++frame) {
            frame->clear();
            tasks.push_back(frame->task);
          }
          ASSERT_TRUE(executor.run(tasks));
          for (auto frame = frames.begin(); frame != frames.begin() + left; ++frame)
            ASSERT_EQ(frame->difference(), "") << "frame " << frame - frames.begin();
        }
      }
    }
  }
}

TEST_F(Structures, threadsMadeAnewForEveryStageGiveTheSameBits) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 50, .height = 31}, Planes::all);
  TestFrame frame(*layout, 9);
  expect_reference(frame, {.structure = Structure::sequential,
                           .fusion = Fusion::none,
                           .threads = workers,
                           .isa = machine::best_isa(),
                           .fresh_threads = true});
}

TEST_F(Structures, sequentialComputesEveryPixelOfEveryStageOnce) {
  const auto layout =
      lay_out_frame(*load_pipeline("@B"), {.width = 100, .height = 60, .chroma = video::Chroma::gray},
                    Planes::all, Samples::floats);
  TestFrame frame(*layout, 2);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  ASSERT_TRUE(executor.set(*layout, {.structure = Structure::sequential,
                                     .fusion = Fusion::none,
                                     .threads = 2,
                                     .isa = machine::best_isa()}));
  for (int f = 0; f < 3; ++f)
    ASSERT_TRUE(executor.run({&frame.task, 1}));
  const auto stages = executor.stages();
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].pixels_computed, 3 * 100 * 60);
  EXPECT_EQ(stages[1].pixels_computed, 3 * 100 * 60);
  EXPECT_EQ(stages[2].pixels_computed, 3 * 80 * 48);
  EXPECT_LT(stages[0].pixels_required, stages[0].pixels_computed);
}

TEST_F(Structures, backwardCachedComputesEveryPixelOnceWithAnyNumberOfWorkers) {
  const auto layout =
      lay_out_frame(*load_pipeline("@A"), {.width = 96, .height = 64, .chroma = video::Chroma::gray},
                    Planes::all, Samples::floats);
  TestFrame frame(*layout, 2);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  int frames = 0;
  for (const int threads : {1, 2, workers}) {
    ASSERT_TRUE(executor.set(*layout, {.structure = Structure::backward_cached,
                                       .fusion = Fusion::none,
                                       .tile = {16, 16},
                                       .threads = threads,
                                       .isa = machine::best_isa()}));
    for (int f = 0; f < 50; ++f, ++frames)
      ASSERT_TRUE(executor.run({&frame.task, 1}));
    for (const StageReport& stage : executor.stages())
      EXPECT_EQ(stage.pixels_computed, frames * 96 * 64) << stage.stages << ", threads: " << threads;
  }
}

TEST_F(Structures, slidingComputesNoRowTwiceWithinABand) {
  const auto layout =
      lay_out_frame(*load_pipeline("blur | blur | blur"),
                    {.width = 96, .height = 64, .chroma = video::Chroma::gray}, Planes::all, Samples::floats);
  TestFrame frame(*layout, 2);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  ASSERT_TRUE(executor.set(*layout, {.structure = Structure::sliding,
                                     .fusion = Fusion::none,
                                     .tile = {0, 5},
                                     .threads = 1,
                                     .isa = machine::best_isa()}));
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  for (const StageReport& stage : executor.stages())
    EXPECT_EQ(stage.pixels_computed, 96 * 64) << stage.stages;
}

}  // namespace
}  // namespace millrace::image
