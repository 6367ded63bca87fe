// Tests yuv2rgb and rgb2yuv against numbers worked out by hand from ITU-T H.273, and the rules for pipelines
// between them.
#include "millrace/image/filters/color_model.h"
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::HasSubstr;

constexpr int bt601 = 6;
constexpr int bt709 = 1;
constexpr int bt2020 = 9;

video::FrameFormat format_of(video::Chroma chroma, int bits, video::ColorRange range, int matrix) {
  return {.width = 1, .height = 1, .chroma = chroma, .bits = bits, .range = range, .color_matrix = matrix};
}

// Red, green and blue of one pixel with the given codes.
std::array<float, 3> rgb_of(const video::FrameFormat& format, const std::vector<float>& codes,
                            const char* text = "yuv2rgb") {
  const FrameLayout layout = lay_out_frame(load_pipeline(text).value(), format).value();
  const PlaneLayout& luma = layout.planes[0];
  std::vector<ScalarImage> sources;
  for (const SourceFrame& source : luma.sources)
    sources.push_back({.size = {1, 1}, .pixels = {codes[static_cast<std::size_t>(source.plane)]}});
  const std::vector<ScalarImage> made = scalar_stages(luma, sources);
  const auto mix = std::ranges::find(luma.stages, "rgb2yuv.mix", &StageLayout::name);
  EXPECT_NE(mix, luma.stages.end());
  std::array<float, 3> rgb{};
  for (std::size_t i = 0; i < rgb.size(); ++i)
    rgb.at(i) = made[static_cast<std::size_t>(mix->inputs.at(i))].pixels[0];
  return rgb;
}

std::size_t stages_named(const PlaneLayout& layout, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(layout.stages, [&](const StageLayout& stage) { return stage.name == name; }));
}

TEST(ColorModel, chromaIsMadeLargeOnceForAllOfAPlane) {
  const auto pipeline = load_pipeline("yuv2rgb | rgb2yuv").value();
  const video::FrameFormat format{.width = 64, .height = 48, .chroma = video::Chroma::c420};
  const FrameLayout layout = lay_out_frame(pipeline, format).value();
  for (const PlaneLayout& plane : layout.planes) {
    EXPECT_EQ(stages_named(plane, "yuv2rgb.resample_x"), 2U);  // for Cb and Cr
    EXPECT_EQ(stages_named(plane, "yuv2rgb.resample_y"), 2U);
    EXPECT_EQ(stages_named(plane, "yuv2rgb.mix"), 3U);
  }
  // Filters written twice can have different arguments.
  const auto twice = load_pipeline("[gaussian(1), gaussian(1)] | magnitude").value();
  EXPECT_EQ(stages_named(lay_out_frame(twice, format).value().planes[0], "gaussian.row_sum"), 2U);
}

struct ColorCase {
  video::FrameFormat format;
  std::vector<float> codes;
  std::array<float, 3> rgb;
  const char* pipeline = "yuv2rgb";
};

TEST(ColorModel, redGreenAndBlueAreThoseOfTheStandard) {
  using video::Chroma;
  using enum video::ColorRange;
  const ColorCase cases[] = {
      // White and black; codes beyond them give values beyond 0 and 1.
      {format_of(Chroma::c444, 8, limited, bt709), {235, 128, 128}, {1, 1, 1}},
      {format_of(Chroma::c444, 8, limited, bt2020), {16, 128, 128}, {0, 0, 0}},
      {format_of(Chroma::c444, 10, limited, bt709), {940, 512, 512}, {1, 1, 1}},
      {format_of(Chroma::c444, 16, limited, bt709), {60160, 32768, 32768}, {1, 1, 1}},
      {format_of(Chroma::c444, 8, limited, bt601),
       {254, 128, 128},
       {238 / 219.0F, 238 / 219.0F, 238 / 219.0F}},
      {format_of(Chroma::c444, 8, full, bt601), {255, 128, 128}, {1, 1, 1}},
      {format_of(Chroma::c444, 10, full, bt601), {0, 512, 512}, {0, 0, 0}},
      // Cr half a unit higher: red rises by 2 (1 - red) / 2, and green falls so that luma stays the same.
      {format_of(Chroma::c444, 8, limited, bt709),
       {16, 128, 240},
       {0.7874F, -0.7874F * 0.2126F / 0.7152F, 0}},
      {format_of(Chroma::c444, 8, limited, bt601), {16, 240, 128}, {0, -0.886F * 0.114F / 0.587F, 0.886F}},
      {format_of(Chroma::c444, 10, limited, bt2020),
       {64, 512, 960},
       {0.7373F, -0.7373F * 0.2627F / 0.678F, 0}},
      // The video does not state its matrix, or the pipeline overrides it.
      {format_of(Chroma::c444, 8, unspecified, 2), {16, 240, 128}, {0, -0.886F * 0.114F / 0.587F, 0.886F}},
      {format_of(Chroma::c444, 8, limited, 8),
       {16, 128, 240},
       {0.7874F, -0.7874F * 0.2126F / 0.7152F, 0},
       "yuv2rgb(bt709)"},
      // No colour planes; FFmpeg treats gray as full range.
      {format_of(Chroma::gray, 8, unspecified, 2), {51}, {0.2F, 0.2F, 0.2F}, "yuv2rgb"},
      {format_of(Chroma::gray, 8, limited, 2), {235}, {1, 1, 1}},
  };
  for (const ColorCase& c : cases) {
    // For gray video, luma alone is made from all three.
    const auto rgb = rgb_of(c.format, c.codes, c.pipeline);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(rgb[i], c.rgb[i], 2e-6F) << fmt::format("{} of {}, {}", i, c.codes[0], c.pipeline);
  }
}

// Every plane after the pipeline, for noise restricted to codes of colours that exist in RGB.
std::vector<ScalarImage> through(const char* pipeline, const video::FrameFormat& format,
                                 const std::vector<ScalarImage>& input, Planes planes = Planes::automatic) {
  const FrameLayout layout = lay_out_frame(load_pipeline(pipeline).value(), format, planes).value();
  std::vector<ScalarImage> made;
  for (const PlaneLayout& plane : layout.planes) {
    std::vector<ScalarImage> sources;
    for (const SourceFrame& source : plane.sources)
      sources.push_back(input[static_cast<std::size_t>(source.plane)]);
    made.push_back(scalar_reference(plane, sources));
  }
  return made;
}

std::vector<ScalarImage> noise_codes(const video::FrameFormat& format) {
  std::vector<ScalarImage> planes;
  for (int p = 0; p < video::plane_count(format.chroma); ++p) {
    ScalarImage plane = noise(plane_geometry(format, p).size, static_cast<unsigned>(p) + 1);
    for (float& pixel : plane.pixels)
      pixel = std::floor(pixel * static_cast<float>(1 << format.bits));
    planes.push_back(std::move(plane));
  }
  return planes;
}

TEST(ColorModel, thereAndBackEveryCodeOf444StaysAsItWas) {
  for (const int matrix : {1, 4, 5, 6, 7, 9}) {
    for (const int bits : {8, 10, 12}) {
      for (const auto range : {video::ColorRange::limited, video::ColorRange::full}) {
        const video::FrameFormat format{.width = 33,
                                        .height = 21,
                                        .chroma = video::Chroma::c444,
                                        .bits = bits,
                                        .range = range,
                                        .color_matrix = matrix};
        const auto input = noise_codes(format);
        EXPECT_EQ(through("yuv2rgb | rgb2yuv", format, input), input) << matrix << ", " << bits << " bits";
      }
    }
  }
}

TEST(ColorModel, whatEndsInRgbIsMadeYuvOfAgain) {
  for (const auto chroma : {video::Chroma::gray, video::Chroma::c420, video::Chroma::c422}) {
    const video::FrameFormat format{.width = 17, .height = 9, .chroma = chroma};
    const auto input = noise_codes(format);
    const char* const filters = "yuv2rgb | blur | levels(0.1, 0.8, 1.5)";
    EXPECT_EQ(through(filters, format, input),
              through(fmt::format("{} | rgb2yuv", filters).c_str(), format, input));
  }
}

// All three planes are light, so even filters that leave chroma alone apply to each of them, whatever
// --planes says.
TEST(ColorModel, filtersOfLumaWorkOnEachOfTheThree) {
  const video::FrameFormat format{.width = 17, .height = 9, .chroma = video::Chroma::c444};
  const auto input = noise_codes(format);
  const char* const text = "yuv2rgb | threshold(0.5)";
  const auto made = through(text, format, input);
  EXPECT_NE(made[1], input[1]);
  EXPECT_EQ(through(text, format, input, Planes::all), made);
  EXPECT_EQ(through(text, format, input, Planes::luma), made);
}

// A threshold on luma neutralizes chroma, so red, green and blue are equal and chroma comes out gray.
TEST(ColorModel, ofChromaThatBecameNeutralComesGray) {
  const video::FrameFormat format{.width = 17, .height = 9};
  const auto made = through("binary | yuv2rgb", format, noise_codes(format));
  for (const std::size_t p : {1U, 2U})
    EXPECT_THAT(made[p].pixels, testing::Each(128)) << "plane " << p;
}

// A plane of one colour is the same for every position of its samples.
TEST(ColorModel, flatChromaStaysFlatAtEverySizeAndSubsampling) {
  for (const Size size : telling_sizes) {
    for (const auto chroma : {video::Chroma::c420, video::Chroma::c422, video::Chroma::c444}) {
      const video::FrameFormat format{.width = size.width, .height = size.height, .chroma = chroma};
      std::vector<ScalarImage> input = noise_codes(format);
      for (const std::size_t p : {1U, 2U})
        std::ranges::fill(input[p].pixels, p == 1 ? 90.0F : 170.0F);
      EXPECT_EQ(through("yuv2rgb | rgb2yuv", format, input), input) << video::to_string(format);
    }
  }
}

std::string refusal_of(const char* pipeline, int matrix = 2) {
  const video::FrameFormat format{.width = 16, .height = 16, .color_matrix = matrix};
  const auto layout = lay_out_frame(load_pipeline(pipeline).value(), format, Planes::automatic);
  if (layout) return "";
  EXPECT_EQ(layout.error().kind, ErrorKind::usage);
  return layout.error().message;
}

TEST(ColorModel, whatMakesNoSenseIsRefusedWithAWayOut) {
  EXPECT_EQ(refusal_of("yuv2rgb | blur | yuv2rgb"), "yuv2rgb: its input is RGB already; leave it out");
  EXPECT_EQ(refusal_of("blur | rgb2yuv"),
            "rgb2yuv: its input is not RGB; put yuv2rgb before it, or leave it out");
  EXPECT_EQ(refusal_of("yuv2rgb | saturate(2)"),
            "saturate: works on chroma, and its input is RGB; put rgb2yuv before it");
  for (const char* const mixed : {"[yuv2rgb, input] | blend(add)", "[input, yuv2rgb] | blend(add)"})
    EXPECT_THAT(refusal_of(mixed), HasSubstr("blend: one of its inputs is RGB and another is not"));
  EXPECT_THAT(refusal_of("yuv2rgb", 8), HasSubstr("number 8 of H.273"));
  EXPECT_THAT(refusal_of("yuv2rgb", 8), HasSubstr("yuv2rgb(bt709)"));
  EXPECT_EQ(refusal_of("yuv2rgb(bt709)", 8), "");
  EXPECT_EQ(refusal_of("yuv2rgb | rgb2yuv | saturate(2) | yuv2rgb"), "");
}

// Nothing checks the arguments of parts, so they must be complete.
TEST(ColorModel, hasPartsWithANumberForEveryParameter) {
  const auto check = [](const PlaneMix& mix) {
    for (const Part& part : mix.parts)
      EXPECT_EQ(part.values.size(), part.filter->parameters.size()) << part.filter->name;
    return mix.output;
  };
  for (const auto chroma : {video::Chroma::c420, video::Chroma::c422, video::Chroma::c444}) {
    const video::FrameFormat format{.width = 33, .height = 21, .chroma = chroma};
    std::vector<PlaneGeometry> planes;
    for (int p = 0; p < 3; ++p)
      planes.push_back(plane_geometry(format, p));
    std::vector<PlaneGeometry> rgb;
    for (int p = 0; p < 3; ++p)
      rgb.push_back(check(find_filter("yuv2rgb")->if_mixing()->mix(p, planes, {0}).value()));
    for (int p = 0; p < 3; ++p)
      EXPECT_EQ(check(find_filter("rgb2yuv")->if_mixing()->mix(p, rgb, {}).value()).size, planes[p].size);
  }
}

}  // namespace
}  // namespace millrace::image
