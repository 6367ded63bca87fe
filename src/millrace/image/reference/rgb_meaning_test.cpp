// Compares the conversions to and from red, green and blue with FFmpeg: zimg for even sizes, which it
// requires, else swscale. One process for all.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/ffmpeg_testing.h"
#include "millrace/image/reference/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

struct RgbCase {
  video::Chroma chroma;
  int bits;
  const char* pixels;  // FFmpeg's name of the format
  video::ColorRange range;
  int matrix;
  const char* zimg_matrix;
  Size size;
  bool zimg = true;
};

using video::Chroma;
using video::ColorRange;

const RgbCase rgb_cases[] = {
    {Chroma::c420, 8, "yuv420p", ColorRange::limited, 6, "170m", {48, 34}},
    {Chroma::c420, 10, "yuv420p10le", ColorRange::limited, 1, "709", {48, 34}},
    {Chroma::c420, 16, "yuv420p16le", ColorRange::full, 9, "2020_ncl", {48, 34}},
    {Chroma::c422, 8, "yuv422p", ColorRange::full, 1, "709", {48, 33}},
    {Chroma::c422, 12, "yuv422p12le", ColorRange::limited, 9, "2020_ncl", {48, 33}},
    {Chroma::c444, 8, "yuv444p", ColorRange::limited, 9, "2020_ncl", {33, 21}},
    {Chroma::c444, 10, "yuv444p10le", ColorRange::full, 6, "170m", {33, 21}},
    {Chroma::c444, 14, "yuv444p14le", ColorRange::limited, 1, "709", {33, 21}},
    {Chroma::c420, 8, "yuv420p", ColorRange::limited, 1, "709", {33, 21}, false},
    {Chroma::c420, 8, "yuv420p", ColorRange::full, 6, "170m", {21, 34}, false},
    {Chroma::c422, 8, "yuv422p", ColorRange::limited, 6, "170m", {33, 21}, false},
};

video::FrameFormat format_of(const RgbCase& c) {
  return {.width = c.size.width,
          .height = c.size.height,
          .chroma = c.chroma,
          .bits = c.bits,
          .range = c.range,
          .color_matrix = c.matrix};
}

// Waves coarse enough for chroma, using only colours that exist in RGB.
std::vector<ScalarImage> picture_of(const video::FrameFormat& format) {
  std::vector<ScalarImage> planes;
  for (int p = 0; p < video::plane_count(format.chroma); ++p) {
    const PlaneGeometry geometry = plane_geometry(format, p);
    ScalarImage& plane = planes.emplace_back(ScalarImage{.size = geometry.size, .pixels = {}});
    for (int y = 0; y < geometry.size.height; ++y) {
      for (int x = 0; x < geometry.size.width; ++x) {
        const double wave = std::sin(0.23 * x * geometry.step_x + 0.11 * y * geometry.step_y + p) +
                            std::cos(0.13 * x * geometry.step_x - 0.21 * y * geometry.step_y + 2.0 * p);
        plane.pixels.push_back(static_cast<float>(std::floor((0.5 + 0.06 * wave) * (1 << format.bits))));
      }
    }
  }
  return planes;
}

void write_codes(const std::string& path, const std::vector<ScalarImage>& planes, int bits) {
  std::ofstream file(path, std::ios::binary);
  for (const ScalarImage& plane : planes) {
    for (const float pixel : plane.pixels) {
      const auto code = static_cast<unsigned>(pixel);
      file.put(static_cast<char>(code & 255U));
      if (bits > 8) file.put(static_cast<char>(code >> 8U));
    }
  }
}

ScalarImage read_plane(std::ifstream& file, Size size, int bits) {
  ScalarImage plane{.size = size, .pixels = {}};
  for (std::int64_t i = 0; i < size.pixels(); ++i) {
    const int low = file.get();
    plane.pixels.push_back(static_cast<float>(low + (bits > 8 ? 256 * file.get() : 0)));
  }
  EXPECT_TRUE(file.good());
  return plane;
}

// As a share of white, or of all codes.
double most_apart(const ScalarImage& ours, double our_white, const ScalarImage& theirs, double their_white) {
  EXPECT_EQ(ours.size, theirs.size);
  double most = 0;
  for (std::size_t i = 0; i < std::min(ours.pixels.size(), theirs.pixels.size()); ++i)
    most = std::max(most, std::abs(ours.pixels[i] / our_white - theirs.pixels[i] / their_white));
  return most;
}

constexpr const char* there_and_back = "yuv2rgb | levels(0.2, 0.8, 1) | rgb2yuv";

TEST(RgbMeaning, isThatOfFFmpeg) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  std::string inputs;
  std::string graph;
  std::string outputs;
  for (std::size_t i = 0; i < std::size(rgb_cases); ++i) {
    const RgbCase& c = rgb_cases[i];
    const bool full = c.range == ColorRange::full;
    write_codes(path(fmt::format("in{}", i)), picture_of(format_of(c)), c.bits);
    inputs += fmt::format(" -f rawvideo -pix_fmt {} -s {}x{} -i '{}'", c.pixels, c.size.width, c.size.height,
                          path(fmt::format("in{}", i)));
    const std::string swscale = "flags=bilinear+accurate_rnd+full_chroma_int+full_chroma_inp";
    const std::string there =
        c.zimg ? fmt::format("zscale=min={}:rin={}:cin=center:m=gbr:r=full:f=bilinear:d=none,format=gbrp16le",
                             c.zimg_matrix, full ? "full" : "limited")
               : fmt::format("scale={}:in_color_matrix={}:in_range={}:out_range=full,format=gbrp", swscale,
                             c.matrix == 1 ? "bt709" : "bt601", full ? "full" : "limited");
    const std::string back =
        c.zimg ? fmt::format("zscale=min=gbr:rin=full:m={}:r={}:c=center:f=bilinear:d=none,format={}",
                             c.zimg_matrix, full ? "full" : "limited", c.pixels)
               : fmt::format("scale={}:out_color_matrix={}:out_range={}:in_range=full,format={}", swscale,
                             c.matrix == 1 ? "bt709" : "bt601", full ? "full" : "limited", c.pixels);
    const int white = c.zimg ? 65535 : 255;
    const std::string levels = fmt::format("clip((val/{0}-0.2)/0.6,0,1)*{0}", white);
    graph += fmt::format("{0}[{1}]{2},split[r{1}][t{1}];[t{1}]lutrgb=r='{3}':g='{3}':b='{3}',{4}[b{1}]",
                         i > 0 ? ";" : "", i, there, levels, back);
    for (const char* const which : {"r", "b"})
      outputs +=
          fmt::format(" -map '[{0}{1}]' -f rawvideo '{2}'", which, i, path(fmt::format("{}{}", which, i)));
  }
  std::ofstream(path("graph")) << graph;
  const std::string command =
      fmt::format("ffmpeg -v error -nostdin{} {}{}", inputs, graph_option(path("graph")), outputs);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe): one thread

  for (std::size_t i = 0; i < std::size(rgb_cases); ++i) {
    const RgbCase& c = rgb_cases[i];
    SCOPED_TRACE(fmt::format("{} of {}x{}, matrix {}", c.pixels, c.size.width, c.size.height, c.matrix));
    const video::FrameFormat format = format_of(c);
    const auto layout =
        lay_out_frame(load_pipeline(there_and_back).value(), format, Planes::automatic).value();
    const std::vector<ScalarImage> input = picture_of(format);
    const auto sources_of = [&](const PlaneLayout& plane) {
      std::vector<ScalarImage> sources;
      for (const SourceFrame& source : plane.sources)
        sources.push_back(input[static_cast<std::size_t>(source.plane)]);
      return sources;
    };
    // Luma is made from all three, in the order red, green, blue; FFmpeg's order is green, blue, red.
    std::vector<ScalarImage> rgb;
    const std::vector<ScalarImage> made = scalar_stages(layout.planes[0], sources_of(layout.planes[0]));
    for (std::size_t s = 0; s < made.size(); ++s)
      if (layout.planes[0].stages[s].name == "yuv2rgb.mix") rgb.push_back(made[s]);
    ASSERT_EQ(rgb.size(), 3U);
    std::ifstream their_rgb(path(fmt::format("r{}", i)), std::ios::binary);
    for (const std::size_t channel : {1U, 2U, 0U}) {
      const ScalarImage theirs = read_plane(their_rgb, c.size, c.zimg ? 16 : 8);
      EXPECT_LE(most_apart(rgb[channel], 1, theirs, c.zimg ? 65535 : 255), c.zimg ? 1.0 / 16384 : 1.0 / 255)
          << "channel " << channel;
    }
    std::ifstream their_planes(path(fmt::format("b{}", i)), std::ios::binary);
    const double codes = (1 << c.bits) - 1;
    for (std::size_t p = 0; p < layout.planes.size(); ++p) {
      const ScalarImage ours = scalar_reference(layout.planes[p], sources_of(layout.planes[p]));
      const ScalarImage theirs = read_plane(their_planes, ours.size, c.bits);
      EXPECT_LE(most_apart(ours, codes, theirs, codes), (c.zimg ? 1.01 : 2.01) / 255) << "plane " << p;
      EXPECT_GT(most_apart(ours, codes, input[p], codes), 8.0 / 255) << "what changes nothing shows nothing";
    }
  }
}

}  // namespace
}  // namespace millrace::image
