// Compares filters with FFmpeg's on one 4:2:0 picture, in one process for all of them. The scalar reference
// represents all structures, because kernels share its bits.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/ffmpeg_testing.h"
#include "millrace/image/reference/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

struct Counterpart {
  const char* ours;
  const char* ffmpeg;  // {} is replaced by normal_window()
  double most;         // maximum difference of a sample in code values
  int margin = 0;      // ignored samples at the edges, which FFmpeg treats differently
  bool luma = true;    // planes that both filter alike
  bool chroma = true;
};

const Counterpart counterparts[] = {
    {"flip(horizontal)", "hflip", 0},
    {"flip(vertical)", "vflip", 0},
    {"flip(both)", "hflip,vflip", 0},
    {"transpose", "transpose=clock", 0},
    {"transpose(counterclockwise)", "transpose=cclock", 0},
    {"transpose(diagonal)", "transpose=cclock_flip", 0},
    {"crop_at(6, 4, 40, 30)", "crop=40:30:6:4", 0},
    {"pad(4, 2, 6, 8, 0.0627451)", "pad=iw+10:ih+10:4:2:black", 0},
    {"perspective([5, 3, 90, 8, 2, 60, 85, 55])", "perspective=5:3:90:8:2:60:85:55:interpolation=linear", 2,
     0, true, false},
    {"median", "median=radius=1", 0, 2},
    {"median(2)", "median=radius=2", 0, 3},
    {"morphology(erode)", "erosion", 0, 0, true, false},
    {"morphology(dilate)", "dilation", 0, 0, true, false},
    {"morphology(open)", "erosion,dilation", 0, 0, true, false},
    {"morphology(close, 2)", "dilation,dilation,erosion,erosion", 0, 4, true, false},
    {"convolve([0, 1, 0, 2, -3, 1, 0, 5, 0])", "convolution='0 1 0 2 -3 1 0 5 0'", 1, 2, true, false},
    {"convolve([1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4])",
     "convolution='1 0 0 0 0 0 2 0 0 0 0 0 3 0 0 0 0 0 0 0 0 0 0 0 4'", 1, 3, true, false},
    {"box(2)", "avgblur=sizeX=2", 1, 3, true, false},
    // FFmpeg's gblur is no counterpart: it is recursive, and even with its maximum number of steps the
    // centre's weight is a tenth too large. Its convolution uses the weights of the normal distribution
    // exactly.
    {"gaussian(2)", "{}", 1, 7, true, false},
    {"unsharp(2, 1.5)",
     "split[sharp][soft];[soft]{}[softened];[sharp][softened]blend=c0_expr='clip(A+1.5*(A-B),0,255)'", 2, 7,
     true, false},
    {"levels(0.1, 0.9, 2.2)", "lutyuv=y='round(255*pow(clip((val/255-0.1)/0.8,0,1),1/2.2))'", 1, 0, true,
     false},
    {"saturate(1.5)", "hue=s=1.5", 1},
    {"resize(60, 38, bilinear)", "scale=60:38:flags=bilinear+accurate_rnd+full_chroma_int", 2, 3, true,
     false},
    {"resize(150, 90, bilinear)", "scale=150:90:flags=bilinear+accurate_rnd", 2, 3, true, false},
    // Uses zimg, because the bicubic kernel of `scale` is different (a = -0.6).
    {"resize(150, 90)", "zscale=150:90:filter=bicubic", 2, 8, true, false},
    {"resize(60, 38, bicubic)", "zscale=60:38:filter=bicubic", 2, 8, true, false},
    {"resize(150, 90, lanczos3)", "scale=150:90:flags=lanczos+accurate_rnd:param0=3", 2, 8, true, false},
};

// e^(-d^2 / 8) along rows, then along columns, in units of 1/65536 of their sum.
std::string normal_window() {
  constexpr int radius = 6;
  double sum = 0;
  for (int d = -radius; d <= radius; ++d)
    sum += std::exp(-d * d / 8.0);
  std::string weights;
  for (int d = -radius; d <= radius; ++d)
    weights += fmt::format("{} ", std::lround(65536 * std::exp(-d * d / 8.0) / sum));
  return fmt::format(
      "convolution=0m='{0}':0mode=row:0rdiv=1/65536,convolution=0m='{0}':0mode=column:0rdiv=1/65536",
      weights);
}

// Filters over time and their counterparts, compared on the third of five frames.
struct TemporalCounterpart {
  const char* ours;
  const char* ffmpeg;
  int later;         // delay of FFmpeg's output, in frames
  double most;       // maximum difference of a sample in code values
  double share = 0;  // share of samples that may differ by more: if two slopes are equally good
};

const TemporalCounterpart temporal_counterparts[] = {
    {"temporal_average(3)", "tmix=frames=3", 1, 1},
    {"temporal_median", "tmedian=radius=1", -1, 0},
    {"difference", "tblend=all_mode=difference", -1, 0},
    {"deinterlace", "yadif=parity=tff", 0, 1, 0.01},
    {"deinterlace(first=bottom)", "yadif=parity=bff", 0, 1, 0.01},
};

// With specks, for filters that remove them.
Planes8 speckled_picture(const video::FrameFormat& format) {
  Planes8 planes = test_picture(format);
  for (ScalarImage& plane : planes) {
    for (std::size_t i = 0; i < plane.pixels.size(); i += 17)
      plane.pixels[i] = static_cast<float>(i % 2 == 0 ? 16 : 240);
  }
  return planes;
}

double largest_difference(const ScalarImage& ours, const ScalarImage& theirs, int margin) {
  EXPECT_EQ(ours.size, theirs.size);
  if (ours.size != theirs.size) return 256;
  double most = 0;
  for (int y = margin; y < ours.size.height - margin; ++y) {
    for (int x = margin; x < ours.size.width - margin; ++x)
      most = std::max(most, std::abs(double{ours.at(x, y)} - theirs.at(x, y)));
  }
  return most;
}

TEST(FilterMeaning, isThatOfFFmpegsCounterparts) {
  const video::FrameFormat format{.width = 96, .height = 64};
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  write_planes(path("picture"), speckled_picture(format));

  std::string graph = fmt::format("[0]format=yuv420p,split={}[in]", std::size(counterparts) + 1);
  std::string chains;
  std::string outputs = fmt::format(" -map '[in]' -f rawvideo '{}'", path("in"));
  for (std::size_t i = 0; i < std::size(counterparts); ++i) {
    graph += fmt::format("[a{}]", i);
    std::string theirs = counterparts[i].ffmpeg;
    if (const std::size_t window = theirs.find("{}"); window != std::string::npos)
      theirs.replace(window, 2, normal_window());
    chains += fmt::format(";[a{0}]{1}[o{0}]", i, theirs);
    outputs += fmt::format(" -map '[o{}]' -f rawvideo '{}'", i, path(fmt::format("out{}", i)));
  }
  std::ofstream(path("graph")) << graph << chains;
  const std::string command =
      fmt::format("ffmpeg -v error -nostdin -f rawvideo -pix_fmt yuv444p -s {}x{} -i '{}' {}{}", format.width,
                  format.height, path("picture"), graph_option(path("graph")), outputs);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe): one thread
  const Planes8 input = read_planes(path("in"), format);

  for (std::size_t i = 0; i < std::size(counterparts); ++i) {
    const Counterpart& c = counterparts[i];
    SCOPED_TRACE(fmt::format("{} and {}", c.ours, c.ffmpeg));
    const FrameLayout layout =
        lay_out_frame(load_pipeline(c.ours).value(), format, Planes::automatic).value();
    const Planes8 theirs = read_planes(path(fmt::format("out{}", i)), layout.output);
    double changed = 0;
    for (int p = c.luma ? 0 : 1; p < (c.chroma ? 3 : 1); ++p) {
      const ScalarImage ours = scalar_reference(layout.planes[p], input[p]);
      EXPECT_LE(largest_difference(ours, theirs[p], c.margin), c.most) << "plane " << p;
      changed = std::max(changed, ours.size == input[p].size ? largest_difference(ours, input[p], 4) : 256);
    }
    EXPECT_GT(changed, 4 * c.most + 4) << "a filter that changes nothing shows nothing";
  }
}

// Filters of two pictures and their counterparts.
struct SecondCounterpart {
  const char* ours;
  const char* ffmpeg;
  double most;
  bool chroma = false;             // both filter chroma alike
  const char* to_second = "null";  // applied to the second picture first by FFmpeg
};

const SecondCounterpart second_counterparts[] = {
    {"blend(normal, 0.3)", "blend=all_mode=normal:all_opacity=0.7", 1, true},
    {"blend(average)", "blend=all_mode=average", 1, true},
    {"blend(add)", "blend=all_mode=addition", 0},
    {"blend(subtract, 0.6)", "blend=all_mode=subtract:all_opacity=0.6", 1},
    {"blend(difference)", "blend=all_mode=difference", 0},
    {"blend(darken)", "blend=all_mode=darken", 0},
    {"blend(lighten, 0.5)", "blend=all_mode=lighten:all_opacity=0.5", 1},
    {"blend(multiply)", "blend=all_mode=multiply", 1},
    {"blend(screen)", "blend=all_mode=screen", 1},
    {"blend(overlay)", "blend=all_mode=overlay", 2},
    {"blend(hard_light)", "blend=all_mode=hardlight", 2},
    {"blend(exclusion)", "blend=all_mode=exclusion", 2},
    {"blend(grain_extract)", "blend=all_mode=grainextract", 1},
    {"blend(grain_merge)", "blend=all_mode=grainmerge", 1},
    {"overlay(7, -11)", "overlay=7:-11", 0, true},
    {"overlay(-3, 20, 0.50196078)", "overlay=-3:20", 1, true, "format=yuva420p,lutyuv=a=128"},
};

TEST(FilterMeaning, ofTwoPicturesIsThatOfFFmpegsCounterparts) {
  const video::FrameFormat format{.width = 96, .height = 64};
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  write_planes(path("picture"), test_picture(format));

  constexpr std::size_t count = std::size(second_counterparts);
  std::string graph = fmt::format("[0]format=yuv420p,split[a][b];[a]split={}[in]", count + 1);
  std::string chains = fmt::format(";[b]transpose=dir=1,scale=96:64,split={}[second]", count + 1);
  std::string seconds;
  std::string outputs = fmt::format(" -map '[in]' -f rawvideo '{}' -map '[second]' -f rawvideo '{}'",
                                    path("in"), path("second"));
  for (std::size_t i = 0; i < count; ++i) {
    graph += fmt::format("[a{}]", i);
    chains += fmt::format("[b{}]", i);
    seconds += fmt::format(";[b{0}]{1}[c{0}];[a{0}][c{0}]{2},format=yuv420p[o{0}]", i,
                           second_counterparts[i].to_second, second_counterparts[i].ffmpeg);
    outputs += fmt::format(" -map '[o{}]' -f rawvideo '{}'", i, path(fmt::format("out{}", i)));
  }
  std::ofstream(path("graph")) << graph << chains << seconds;
  const std::string command =
      fmt::format("ffmpeg -v error -nostdin -f rawvideo -pix_fmt yuv444p -s {}x{} -i '{}' {}{}", format.width,
                  format.height, path("picture"), graph_option(path("graph")), outputs);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe): one thread
  const Planes8 first = read_planes(path("in"), format);
  const Planes8 second = read_planes(path("second"), format);

  for (std::size_t i = 0; i < count; ++i) {
    const SecondCounterpart& c = second_counterparts[i];
    SCOPED_TRACE(fmt::format("{} and {}", c.ours, c.ffmpeg));
    const Pipeline pipeline = load_pipeline(fmt::format("[input, second] | {}", c.ours)).value();
    const FrameLayout layout =
        lay_out_frame(pipeline, format, Planes::automatic, Samples::codes, format).value();
    const Planes8 theirs = read_planes(path(fmt::format("out{}", i)), format);
    for (std::size_t p = 0; p < (c.chroma ? 3U : 1U); ++p) {
      const std::vector<ScalarImage> both{first[p], second[p]};
      EXPECT_LE(largest_difference(scalar_reference(layout.planes[p], both), theirs[p], 0), c.most)
          << "plane " << p;
      EXPECT_GT(largest_difference(theirs[p], first[p], 0), 8) << "what changes nothing shows nothing";
    }
  }
}

// Waves that move right and down, with every second row half a frame later.
ScalarImage moving_picture(Size size, int frame) {
  ScalarImage picture{.size = size, .pixels = {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const double time = frame + 0.5 * (y % 2);
      const double wave =
          std::sin(0.23 * x + 0.31 * y - 0.8 * time) + std::cos(0.11 * x - 0.17 * y + 0.5 * time);
      picture.pixels.push_back(static_cast<float>(std::lround(128 + 60 * wave)));
    }
  }
  return picture;
}

TEST(FilterMeaning, overTimeIsThatOfFFmpegsCounterparts) {
  const video::FrameFormat format{.width = 80, .height = 48, .chroma = video::Chroma::gray};
  const Size size{format.width, format.height};
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  Planes8 frames;
  for (int frame = 0; frame < 5; ++frame)
    frames.push_back(moving_picture(size, frame));
  write_planes(path("video"), frames);

  std::string graph = fmt::format("[0]split={}", std::size(temporal_counterparts));
  std::string chains;
  std::string outputs;
  for (std::size_t i = 0; i < std::size(temporal_counterparts); ++i) {
    graph += fmt::format("[a{}]", i);
    chains += fmt::format(";[a{0}]{1}[o{0}]", i, temporal_counterparts[i].ffmpeg);
    outputs +=
        fmt::format(" -map '[o{}]' -fps_mode passthrough -f rawvideo '{}'", i, path(fmt::format("out{}", i)));
  }
  std::ofstream(path("graph")) << graph << chains;
  const std::string command =
      fmt::format("ffmpeg -v error -nostdin -f rawvideo -pix_fmt gray -s {}x{} -i '{}' {}{}", format.width,
                  format.height, path("video"), graph_option(path("graph")), outputs);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe): one thread

  constexpr int middle = 2;
  for (std::size_t i = 0; i < std::size(temporal_counterparts); ++i) {
    const TemporalCounterpart& c = temporal_counterparts[i];
    SCOPED_TRACE(fmt::format("{} and {}", c.ours, c.ffmpeg));
    const FrameLayout layout = lay_out_frame(load_pipeline(c.ours).value(), format).value();
    std::vector<ScalarImage> sources;
    for (const SourceFrame& source : layout.planes[0].sources)
      sources.push_back(
          frames.at(static_cast<std::size_t>(middle) + static_cast<std::size_t>(source.offset)));
    const ScalarImage ours = scalar_reference(layout.planes[0], sources);

    std::ifstream file(path(fmt::format("out{}", i)), std::ios::binary);
    file.seekg((middle + c.later) * size.pixels());
    ScalarImage theirs{.size = size, .pixels = {}};
    for (std::int64_t pixel = 0; pixel < size.pixels(); ++pixel)
      theirs.pixels.push_back(static_cast<float>(file.get()));
    ASSERT_TRUE(file.good());
    int others = 0;
    for (int y = 4; y < size.height - 4; ++y) {
      for (int x = 4; x < size.width - 4; ++x)
        others += std::abs(ours.at(x, y) - theirs.at(x, y)) > c.most ? 1 : 0;
    }
    EXPECT_LE(others, c.share * static_cast<double>(size.pixels()));
    EXPECT_GT(largest_difference(ours, frames[middle], 4), 4 * c.most + 4);
  }
}

}  // namespace
}  // namespace millrace::image
