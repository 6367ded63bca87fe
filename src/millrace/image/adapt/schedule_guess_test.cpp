#include "millrace/image/adapt/schedule_guess.h"
#include "millrace/image/adapt/schedule_space.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

std::vector<double> costs_of(const ScheduleSpace& space, ScheduleGuess& guess) {
  std::vector<double> costs;
  for (int c = 0; c < space.size(); ++c)
    costs.push_back(guess.cost(space.schedule(c)));
  return costs;
}

// The guess orders trials, and decides whether to follow a profile made before the kernels were available.
TEST(ScheduleGuess, whatNeedsNoTilesToStayInACacheIsExpectedToRunBestWithout) {
  struct Case {
    const char* pipeline;
    int width;
    int height;
    std::int64_t cache_bytes;
    bool whole;
  };
  constexpr std::int64_t mebi = 1 << 20;
  for (const auto& [pipeline, width, height, cache_bytes, whole] :
       {Case{"@D", 352, 288, 32 * mebi, true}, Case{"@D", 1920, 1080, 4 * mebi, true},  // pointwise
        Case{"@A", 352, 288, 32 * mebi, true}, Case{"@A", 1280, 720, 32 * mebi, true},
        Case{"@A", 352, 288, 4 * mebi, false}, Case{"@A", 1920, 1080, 32 * mebi, false},
        Case{"@B", 352, 288, 32 * mebi, false}}) {  // rotates the frame
    const auto layout = lay_out_frame(*load_pipeline(pipeline), {.width = width, .height = height});
    const ScheduleFreedom freedom{
        .max_threads = 2, .isas = {machine::best_isa()}, .cache_bytes = cache_bytes};
    const auto space = ScheduleSpace::make(*layout, freedom);
    ASSERT_TRUE(space);
    ScheduleGuess guess(*layout, freedom, tuning::Aim::throughput);
    const std::vector<double> prior = costs_of(*space, guess);
    const int best = static_cast<int>(std::ranges::min_element(prior) - prior.begin());
    EXPECT_EQ(space->schedule(best).structure == Structure::sequential, whole) << pipeline << ", " << width;
    EXPECT_EQ(guess.pointwise(), std::string_view(pipeline) == "@D");
  }
}

TEST(ScheduleGuess, smallFramesAreExpectedToRunBestWithAFrameForEachThreadUnlessLatencyCounts) {
  for (const auto& [width, height, threads, side_by_side] : {std::tuple{352, 288, 2, 2},
                                                             {352, 288, 7, 7},
                                                             {640, 480, 2, 2},
                                                             {1280, 720, 2, 1},
                                                             {1280, 720, 16, 16},
                                                             {1920, 1080, 4, 1},
                                                             {352, 288, 1, 1}}) {
    const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = width, .height = height});
    const ScheduleFreedom freedom{
        .max_threads = threads, .isas = {machine::best_isa()}, .cache_bytes = std::int64_t{64} << 20};
    const auto space = ScheduleSpace::make(*layout, freedom);
    ASSERT_TRUE(space);
    const auto counts = ScheduleKnobs::of(freedom).in_flight;
    for (const tuning::Aim aim : {tuning::Aim::throughput, tuning::Aim::latency, tuning::Aim::deadline}) {
      ScheduleGuess guess(*layout, freedom, aim);
      const std::vector<double> prior = costs_of(*space, guess);
      const int best = static_cast<int>(std::ranges::min_element(prior) - prior.begin());
      const int expected = aim == tuning::Aim::throughput ? side_by_side : 1;
      EXPECT_EQ(space->schedule(best).frames_in_flight, expected) << width << ", " << threads;
      EXPECT_EQ(guess.first_in_flight(threads, counts), expected) << width << ", " << threads;
    }
  }
}

TEST(ScheduleGuess, framesToBeginWithAreNoMoreThanCachesHold) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 1920, .height = 1080});
  const auto space = ScheduleSpace::make(*layout, {.max_threads = 64, .isas = {machine::best_isa()}});
  ASSERT_TRUE(space);
  ScheduleGuess guess(*layout, {.isas = {machine::best_isa()}}, tuning::Aim::throughput);
  const auto counts = ScheduleKnobs::of({.max_threads = 64, .isas = {machine::best_isa()}}).in_flight;
  EXPECT_EQ(guess.first_in_flight(64, counts), 2);
  const std::vector<double> prior = costs_of(*space, guess);
  const int best = static_cast<int>(std::ranges::min_element(prior) - prior.begin());
  EXPECT_LE(space->schedule(best).frames_in_flight, 2);
}

TEST(ScheduleGuess, framesToBeginWithAreAtMostThoseThatTheFreedomLeaves) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 352, .height = 288});
  for (const auto& [freedom, expected] :
       {std::pair{ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .max_frames_in_flight = 3},
                  2},
        {ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .frames_in_flight = 1}, 1},
        {ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .frames_in_flight = 5}, 5},
        {ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .threads = 4}, 4}}) {
    const ScheduleGuess guess(*layout, {.isas = {machine::best_isa()}}, tuning::Aim::throughput);
    const int threads = freedom.threads.value_or(freedom.max_threads);
    const auto counts = ScheduleKnobs::of(freedom).in_flight;
    EXPECT_EQ(guess.first_in_flight(threads, counts), expected);
  }
}

// If fused, each plane computes shared stages separately.
TEST(ScheduleGuess, tilesThatShareBetweenPlanesAreExpectedToRunBest) {
  for (const bool mixed : {true, false}) {
    const auto layout =
        lay_out_frame(*load_pipeline(mixed ? "yuv2rgb | curve([0, 0, 1, 0.9]) | rgb2yuv" : "@A"),
                      {.width = 352, .height = 288}, Planes::automatic);
    const auto space = ScheduleSpace::make(*layout, {.max_threads = 2, .isas = {machine::best_isa()}});
    ASSERT_TRUE(space);
    ScheduleGuess guess(*layout, {.isas = {machine::best_isa()}}, tuning::Aim::throughput);
    const std::vector<double> prior = costs_of(*space, guess);
    const auto expected = [&](Structure structure, Fusion fusion) {
      double least = std::numeric_limits<double>::infinity();
      for (int c = 0; c < space->size(); ++c)
        if (const Schedule s = space->schedule(c); s.structure == structure && s.fusion == fusion)
          least = std::min(least, prior[static_cast<std::size_t>(c)]);
      return least;
    };
    EXPECT_EQ(expected(Structure::tiled, Fusion::none) < expected(Structure::tiled, Fusion::pointwise),
              mixed);
    EXPECT_EQ(expected(Structure::tiled, Fusion::none) < expected(Structure::sliding, Fusion::pointwise),
              mixed);
    EXPECT_EQ(guess.shares_unfused(), mixed);
  }
}

// Steep rotations begin with square tiles, whose bounding boxes grow least.
TEST(ScheduleGuess, wideTilesAreNotTheFirstGuessWhereTheyComputeMuchTwice) {
  constexpr std::array tiles{Size{256, 64}, Size{128, 128}};
  const auto first_of = [&](const char* text) {
    const auto layout = lay_out_frame(*load_pipeline(text), {.width = 1280, .height = 720});
    return ScheduleGuess(*layout, {.isas = {machine::best_isa()}}, tuning::Aim::throughput)
        .least_work(Fusion::pointwise, tiles);
  };
  EXPECT_EQ(first_of("@C"), tiles[1]);
  EXPECT_EQ(first_of("undistort(-0.1) | rotate(45)"), tiles[1]);
  EXPECT_EQ(first_of("@A"), tiles[0]);
  EXPECT_EQ(first_of("blur"), tiles[0]);
  EXPECT_EQ(first_of("rotate(30)"), tiles[1]);  // only the conversion of codes is done twice
  EXPECT_EQ(first_of("rotate(6)"), tiles[0]);
}

// Measured time of 64x64 tiles with this fusion, relative to the least possible fusion (352x288, AVX2).
TEST(ScheduleGuess, whatIsComputedTwiceByFusingIsExpectedToTakeAboutAsLongAsItDoes) {
  for (const auto& [text, fusion, seen] : {std::tuple{"@A", Fusion::stencil, 5.0},
                                           {"blur | sobel_x", Fusion::stencil, 3.9},
                                           {"sobel_x | blur", Fusion::stencil, 2.7},
                                           {"blur | discretise(8) | sobel_y | binary", Fusion::stencil, 3.1},
                                           {"@B", Fusion::all, 3.9},
                                           {"@C", Fusion::all, 3.4},
                                           {"resize(176,144)", Fusion::all, 4.2},
                                           {"resize(704,576)", Fusion::all, 5.4},
                                           {"box(3)", Fusion::all, 3.0},
                                           {"gaussian(1.5)", Fusion::all, 6.6},
                                           {"blur | rotate(30)", Fusion::all, 7.5}}) {
    const auto layout = lay_out_frame(*load_pipeline(text), {.width = 352, .height = 288});
    ASSERT_TRUE(layout);
    ScheduleGuess guess(*layout, {.isas = {machine::best_isa()}}, tuning::Aim::throughput);
    const auto cost = [&](Fusion of) {
      return guess.cost(
          {.structure = Structure::tiled, .fusion = of, .tile = {64, 64}, .isa = machine::best_isa()});
    };
    const double expected = cost(fusion) / std::min(cost(Fusion::none), cost(Fusion::pointwise));
    EXPECT_GT(expected, seen / 2) << text;
    EXPECT_LT(expected, seen * 2) << text;
  }
}

}  // namespace
}  // namespace millrace::image
