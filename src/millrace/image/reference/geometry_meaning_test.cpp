// Compares filters that move pixels with FFmpeg's. FFmpeg rotates a 4:4:4 picture (or corrects its lens) and
// then converts it to the tested chroma subsampling. Our filter, applied to the subsampled picture, must give
// a similar result; for chroma, subsampling limits the similarity. The scalar reference represents all
// structures, because kernels share its bits.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/ffmpeg_testing.h"
#include "millrace/image/reference/scalar_reference.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using video::Chroma;

struct Case {
  const char* name;
  const char* pipeline;  // ours
  const char* ffmpeg;    // theirs
  video::FrameFormat format;
  // Source of an output pixel at the luma position (x, y). FFmpeg treats the frame's edge differently.
  void (*source)(double width, double height, double& x, double& y);
  double least_luma = 48;    // PSNR in dB: two bilinear interpolations with different rounding
  double least_chroma = 36;  // the same, one of them with fewer samples
};

// Tells GoogleTest how to print a case.
void PrintTo(const Case& each, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << each.name << " on " << video::to_string(each.format);
}

template <int degrees> void turned(double width, double height, double& x, double& y) {
  const double c = std::cos(degrees * std::numbers::pi / 180);
  const double s = std::sin(degrees * std::numbers::pi / 180);
  const double dx = x - (width - 1) / 2;
  const double dy = y - (height - 1) / 2;
  x = (width - 1) / 2 + c * dx + s * dy;
  y = (height - 1) / 2 - s * dx + c * dy;
}

void straightened(double width, double height, double& x, double& y) {
  const double dx = x - (width - 1) / 2;
  const double dy = y - (height - 1) / 2;
  const double squared = (dx * dx + dy * dy) * 4 / (width * width + height * height);
  const double factor = 1 - 0.3 * squared + 0.1 * squared * squared;
  x = (width - 1) / 2 + dx * factor;
  y = (height - 1) / 2 + dy * factor;
}

struct Filtered {
  Planes8 input;   // the picture with the tested chroma subsampling
  Planes8 output;  // the filtered picture with that subsampling
};

enum class Order { filter_then_subsample, subsample_then_filter };

// FFmpeg's result for the picture; `output`: its format.
Filtered by_ffmpeg(const video::FrameFormat& format, const std::string& filter, Order order,
                   const video::FrameFormat& output) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  write_planes(path("picture"), test_picture(format));
  const std::string to_format = fmt::format("format={}", pixel_format_of(format.chroma));
  const std::string graph = order == Order::filter_then_subsample
                                ? fmt::format("[0]split[a][b];[a]{1}[in];[b]{0},{1}[out]", filter, to_format)
                                : fmt::format("[0]{1},split[in][b];[b]{0}[out]", filter, to_format);
  std::ofstream(path("graph")) << graph;
  const std::string command = fmt::format(
      "ffmpeg -v error -nostdin -f rawvideo -pix_fmt yuv444p -s {}x{} -i '{}' {} "
      "-map '[in]' -f rawvideo '{}' -map '[out]' -f rawvideo '{}'",
      format.width, format.height, path("picture"), graph_option(path("graph")), path("in"), path("out"));
  EXPECT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe): one thread
  return {read_planes(path("in"), format), read_planes(path("out"), output)};
}

FrameLayout layout_of(const char* pipeline, const video::FrameFormat& format) {
  return lay_out_frame(load_pipeline(pipeline).value(), format).value();
}

Planes8 by_us(const FrameLayout& layout, const Planes8& input) {
  Planes8 planes;
  for (std::size_t p = 0; p < input.size(); ++p)
    planes.push_back(scalar_reference(layout.planes[p], input[p]));
  return planes;
}

// For samples whose source is well inside the frame.
double psnr(const Case& c, int plane, const ScalarImage& ours, const ScalarImage& theirs) {
  constexpr double margin = 4;  // luma samples that interpolation and subsampling read around a pixel
  const double width = c.format.width;
  const double height = c.format.height;
  const int step_x = plane > 0 ? video::chroma_step_x(c.format.chroma) : 1;
  const int step_y = plane > 0 ? video::chroma_step_y(c.format.chroma) : 1;
  double squares = 0;
  std::int64_t samples = 0;
  for (int j = 0; j < ours.size.height; ++j) {
    for (int i = 0; i < ours.size.width; ++i) {
      double x = step_x * i + (step_x - 1) * 0.5;
      double y = step_y * j + (step_y - 1) * 0.5;
      if (x < margin || y < margin || x > width - 1 - margin || y > height - 1 - margin) continue;
      c.source(width, height, x, y);
      if (x < margin || y < margin || x > width - 1 - margin || y > height - 1 - margin) continue;
      squares += std::pow(ours.at(i, j) - theirs.at(i, j), 2);
      ++samples;
    }
  }
  EXPECT_GT(samples, ours.size.pixels() / 4) << "too few samples to show anything";
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(samples) / std::max(squares, 1e-9));
}

class Geometry : public testing::TestWithParam<Case> {};

TEST_P(Geometry, isThatOfFFmpegInEveryPlane) {
  const Case& c = GetParam();
  const Filtered theirs = by_ffmpeg(c.format, c.ffmpeg, Order::filter_then_subsample, c.format);
  if (HasFailure()) return;
  const Planes8 ours = by_us(layout_of(c.pipeline, c.format), theirs.input);
  for (int p = 0; p < video::plane_count(c.format.chroma); ++p) {
    const double found = psnr(c, p, ours[p], theirs.output[p]);
    EXPECT_GE(found, p == 0 ? c.least_luma : c.least_chroma) << "plane " << p;
    RecordProperty(fmt::format("psnr_{}", p), fmt::format("{:.1f}", found));
    // Shows that the threshold is meaningful: the unfiltered picture is far off.
    EXPECT_LE(psnr(c, p, theirs.input[p], theirs.output[p]), 20) << "plane " << p;
  }
}

// FFmpeg interpolates at the places given by the formula in docs/pipelines.md.
constexpr const char* lens_by_formula =
    "geq='st(0, 4*((X-(W-1)/2)^2 + (Y-(H-1)/2)^2) / (W*W+H*H)); st(1, 1 + ld(0)*(-0.3 + 0.1*ld(0)));"
    "p((W-1)/2 + (X-(W-1)/2)*ld(1), (H-1)/2 + (Y-(H-1)/2)*ld(1))'";

std::vector<Case> cases() {
  std::vector<Case> all;
  for (Chroma chroma : {Chroma::gray, Chroma::c420, Chroma::c422, Chroma::c444}) {
    for (const Size size : {Size{160, 96}, Size{97, 131}}) {
      const video::FrameFormat format{.width = size.width, .height = size.height, .chroma = chroma};
      all.push_back({"rotate30", "rotate(30)", "rotate=30*PI/180:fillcolor=black", format, turned<30>});
      all.push_back(
          {"rotate100", "rotate(-100)", "rotate=-100*PI/180:fillcolor=black", format, turned<-100>});
      all.push_back({"undistort", "undistort(-0.3, 0.1)", lens_by_formula, format, straightened});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Geometry, testing::ValuesIn(cases()), [](const auto& instance) {
  const Case& c = instance.param;
  return fmt::format("{}_{}_{}x{}", c.name, pixel_format_of(c.format.chroma), c.format.width,
                     c.format.height);
});

class CroppedByFFmpeg : public testing::TestWithParam<std::tuple<Chroma, Size>> {};

// FFmpeg's crop works on subsampled planes and keeps whole chroma samples too.
TEST_P(CroppedByFFmpeg, hasTheSamplesOfOurs) {
  const auto [chroma, size] = GetParam();
  const video::FrameFormat format{.width = size.width, .height = size.height, .chroma = chroma};
  const FrameLayout layout = layout_of("crop(0.7)", format);
  const std::string crop =
      fmt::format("crop={}:{}:floor((iw-ow)/2):floor((ih-oh)/2)", layout.output.width, layout.output.height);
  const Filtered theirs = by_ffmpeg(format, crop, Order::subsample_then_filter, layout.output);
  EXPECT_EQ(by_us(layout, theirs.input), theirs.output);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, CroppedByFFmpeg,
                         testing::Combine(testing::Values(Chroma::gray, Chroma::c420, Chroma::c422,
                                                          Chroma::c444),
                                          testing::Values(Size{64, 48}, Size{67, 45})),
                         [](const auto& instance) {
                           const Size size = std::get<Size>(instance.param);
                           return fmt::format("{}_{}x{}", pixel_format_of(std::get<Chroma>(instance.param)),
                                              size.width, size.height);
                         });

}  // namespace
}  // namespace millrace::image
