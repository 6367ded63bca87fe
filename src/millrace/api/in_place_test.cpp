// Frames processed in place: overlapping, as floats, and stopped in the middle.
#include "millrace/api/api_testing.h"
#include "millrace/api/millrace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::api::testing {
namespace {

using ::testing::HasSubstr;

void start_in_place(const OwnRun& run, const millrace_format& format) {
  ASSERT_EQ(millrace_run_input_frames(run.handle, &format), MILLRACE_OK) << millrace_error();
  ASSERT_EQ(millrace_run_output_frames(run.handle), MILLRACE_OK) << millrace_error();
  ASSERT_EQ(millrace_run_start_in_place(run.handle), MILLRACE_OK) << millrace_error();
}

// A structure, and the offset of the result from the frame, in samples.
struct Place {
  const char* structure;
  int samples;
};
class OntoItself : public ::testing::TestWithParam<Place> {};

TEST_P(OntoItself, AFrameBecomesWhatItBecomesElsewhere) {
  constexpr int width = 61;
  constexpr int height = 47;
  for (const char* const pipeline : {"blur", "gaussian(2) | sobel_x", "rotate(40)", "threshold(0.5)"}) {
    SCOPED_TRACE(pipeline);
    const OwnRun run(pipeline);
    ASSERT_EQ(millrace_run_set(run.handle, "structure", GetParam().structure), MILLRACE_OK);
    const millrace_format format = MILLRACE_FORMAT(width, height, MILLRACE_GRAY, 8);
    start_in_place(run, format);
    constexpr std::size_t size = std::size_t{width} * height;
    std::vector<std::uint8_t> apart(size);
    std::vector<std::uint8_t> shared(size + 200);
    for (std::size_t i = 0; i < size; ++i)
      shared[i + 100] = static_cast<std::uint8_t>(i * 2654435761U >> 13U);
    millrace_frame in = MILLRACE_FRAME;
    in.planes[0] = shared.data() + 100;
    in.strides[0] = width;
    millrace_frame out = MILLRACE_FRAME;
    out.planes[0] = apart.data();
    out.strides[0] = width;
    OK(millrace_run_process(run.handle, &in, &out));
    std::uint8_t* const over = shared.data() + 100 + GetParam().samples;
    out.planes[0] = over;
    OK(millrace_run_process(run.handle, &in, &out));
    EXPECT_TRUE(std::equal(apart.begin(), apart.end(), over));
  }
}

INSTANTIATE_TEST_SUITE_P(Places, OntoItself,
                         ::testing::Values(Place{"sequential", 0}, Place{"tiled", 0}, Place{"sliding", 0},
                                           Place{"tiled", 3}, Place{"sliding", -61}, Place{"tiled", 99}),
                         [](const auto& of) {
                           return std::string(of.param.structure) +
                                  (of.param.samples < 0 ? "_before_" : "_behind_") +
                                  std::to_string(std::abs(of.param.samples));
                         });

// One tap at a time, in double precision, with edges replicated.
double binomial(const std::vector<float>& image, int width, int height, int x, int y) {
  constexpr std::array<double, 3> weights{0.25, 0.5, 0.25};
  double sum = 0;
  for (std::size_t down = 0; down < weights.size(); ++down)
    for (std::size_t right = 0; right < weights.size(); ++right) {
      const int row = std::clamp(y - 1 + static_cast<int>(down), 0, height - 1);
      const int column = std::clamp(x - 1 + static_cast<int>(right), 0, width - 1);
      sum += weights.at(down) * weights.at(right) *
             image[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(column)];
    }
  return sum;
}

TEST(Floats, AreFilteredWithoutBeingRoundedOrClipped) {
  constexpr int width = 37;
  constexpr int height = 23;
  const millrace_format format = MILLRACE_FORMAT(width, height, MILLRACE_GRAY, 32);
  const OwnRun run("blur");
  start_in_place(run, format);
  millrace_format made = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
  OK(millrace_run_output_format(run.handle, &made));
  EXPECT_EQ(made.bits, 32);
  std::vector<float> image;
  for (int i = 0; i < width * height; ++i)
    image.push_back(static_cast<float>((i * 7919 % 1000) / 500.0 - 0.5));  // from -0.5 to 1.5
  std::vector<float> result(image.size());
  millrace_frame in = MILLRACE_FRAME;
  in.planes[0] = image.data();
  in.strides[0] = width * std::ptrdiff_t{sizeof(float)};
  millrace_frame out = in;
  out.planes[0] = result.data();
  OK(millrace_run_process(run.handle, &in, &out));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      ASSERT_NEAR(result[static_cast<std::size_t>(y * width + x)], binomial(image, width, height, x, y), 1e-6)
          << x << ", " << y;
}

TEST(Floats, ThatAreNoNumbersAreRefusedWithTheirRow) {
  const millrace_format format = MILLRACE_FORMAT(16, 8, MILLRACE_GRAY, 32);
  const OwnRun run("curve([0, 0.1, 1, 0.9]) | rotate(10)");
  start_in_place(run, format);
  std::vector<float> image(16 * 8, 0.5F);
  std::vector<float> result(image.size());
  millrace_frame in = MILLRACE_FRAME;
  in.planes[0] = image.data();
  in.strides[0] = 16 * std::ptrdiff_t{sizeof(float)};
  millrace_frame out = in;
  out.planes[0] = result.data();
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    image[3 * 16 + 5] = wrong;
    EXPECT_EQ(millrace_run_process(run.handle, &in, &out), MILLRACE_USAGE);
    EXPECT_THAT(millrace_error(), HasSubstr("row 3"));
  }
  // The largest finite floats.
  image[3 * 16 + 5] = std::numeric_limits<float>::max();
  image[3 * 16 + 6] = std::numeric_limits<float>::lowest();
  OK(millrace_run_process(run.handle, &in, &out));
}

TEST(Floats, AreForGrayFramesThatAreProcessedInPlace) {
  const OwnRun run("blur");
  const millrace_format color = MILLRACE_FORMAT(16, 8, MILLRACE_444, 32);
  EXPECT_EQ(millrace_run_input_frames(run.handle, &color), MILLRACE_USAGE);
  EXPECT_THAT(millrace_error(), HasSubstr("gray"));
  const millrace_format gray = MILLRACE_FORMAT(16, 8, MILLRACE_GRAY, 32);
  OK(millrace_run_input_frames(run.handle, &gray));
  OK(millrace_run_output_frames(run.handle));
  EXPECT_EQ(millrace_run_start(run.handle), MILLRACE_USAGE);
  EXPECT_THAT(millrace_error(), HasSubstr("in_place"));
}

// A frame that would take minutes ends when the run is stopped: some of it is left as it was.
TEST(InPlace, AStopIsHeededWithinAFrame) {
  for (const char* const structure : {"sequential", "tiled", "sliding", "backward-cached"}) {
    SCOPED_TRACE(structure);
    millrace_pipeline* slow = nullptr;
    OK(millrace_pipeline_create_with(
        "slow",
        R"([{"name": "slow", "formula": "inputs 1 coefficients 0; pixel 0 0 0; constant 45800000; loop 1 0; sqrt 2; end 3"}])",
        &slow));
    millrace_run* run = nullptr;
    OK(millrace_run_create(slow, &run));
    OK(millrace_run_set(run, "no-profile", "true"));
    OK(millrace_run_set(run, "structure", structure));
    OK(millrace_run_set(run, "threads", "2"));
    constexpr int side = 8192;
    const millrace_format format = MILLRACE_FORMAT(side, side, MILLRACE_GRAY, 8);
    OK(millrace_run_input_frames(run, &format));
    OK(millrace_run_output_frames(run));
    OK(millrace_run_start_in_place(run));
    constexpr std::uint8_t untouched = 128;  // sqrt makes it 255
    std::vector<std::uint8_t> image(std::size_t{side} * side, untouched);
    millrace_frame frame = MILLRACE_FRAME;
    frame.planes[0] = image.data();
    frame.strides[0] = side;
    millrace_frame made = frame;
    millrace_code code = MILLRACE_OK;
    std::thread processing([&] { code = millrace_run_process(run, &frame, &made); });
    OK(millrace_run_stop(run));
    processing.join();
    EXPECT_EQ(code, MILLRACE_INTERRUPTED);
    EXPECT_TRUE(std::ranges::find(image, untouched) != image.end());
    EXPECT_EQ(millrace_run_wait(run, -1), MILLRACE_INTERRUPTED);
    millrace_run_free(run);
    millrace_pipeline_free(slow);
  }
}

}  // namespace
}  // namespace millrace::api::testing
