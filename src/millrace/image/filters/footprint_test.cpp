// Compares the declarations of filters (footprint, interior) with the pixels that the scalar evaluator really
// reads, for random parameters, sizes and rectangles. Executors rely on these declarations alone.
#include "millrace/image/filter/algebra.h"
#include "millrace/image/filters/all_filters.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/reference/reference_testing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// A picture of any size that takes no memory and records its reads.
class WatchedPicture final : public PixelSource {
 public:
  explicit WatchedPicture(Size size) : size_(size) {}

  float read(int input, int x, int y) override {
    read_ = bounding(read_, {x, y, x + 1, y + 1});
    // Any mixture of the coordinates works if it depends on all of them, because results are compared.
    const auto mixed = static_cast<std::uint32_t>(x) * 2654435761U ^
                       static_cast<std::uint32_t>(y) * 2246822519U ^
                       static_cast<std::uint32_t>(input) * 3266489917U;
    return static_cast<float>(mixed >> 8U) * 0x1p-24F;
  }

  [[nodiscard]] const Rect& read_rect() const { return read_; }
  [[nodiscard]] bool stayed_inside() const { return whole(size_).contains(read_); }

 private:
  Size size_;
  Rect read_;
};

// Like a kernel in the interior: no clamping and no tests for the frame.
class InteriorAlgebra : public ScalarAlgebra {
 public:
  using ScalarAlgebra::ScalarAlgebra;

  [[nodiscard]] static int replicate_x(int x) { return x; }
  [[nodiscard]] static int replicate_y(int y) { return y; }
  [[nodiscard]] int clamp_x(int /*k*/, int x) const { return x; }
  [[nodiscard]] int clamp_y(int /*k*/, int y) const { return y; }
  [[nodiscard]] Neighbours<float> neighbours(int k, int x, int y) {
    return {input(k, x, y), input(k, x + 1, y), input(k, x, y + 1), input(k, x + 1, y + 1)};
  }
  [[nodiscard]] bool interior() const { return true; }
};

struct Subject {
  std::string name;
  float (*interior_pixel)(InteriorAlgebra& algebra, int x, int y);
};

// Tells GoogleTest how to print a subject.
void PrintTo(const Subject& subject, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << subject.name;
}

template <class F> float interior_pixel(InteriorAlgebra& algebra, int x, int y) {
  return F::pixel(algebra, x, y);
}

std::vector<Subject> every_filter() {
  std::vector<Subject> subjects;
  const auto add = [&]<class F>() { subjects.push_back({std::string(F::about().name), &interior_pixel<F>}); };
  NamedFilters::visit(add);
  PartFilters::visit(add);
  return subjects;
}

class Footprint : public testing::TestWithParam<Subject> {
 protected:
  int integer(int low, int high) { return std::uniform_int_distribution(low, high)(generator_); }
  double real(double low, double high) { return std::uniform_real_distribution(low, high)(generator_); }

  // Random values within each parameter's range, often its limits or a small integer.
  ParameterValues any_values(const Filter& filter) {
    ParameterValues values;
    for (const Parameter& parameter : filter.parameters) {
      if (parameter.type == ParameterType::list) {
        const int numbers = std::clamp(integer(1, 5) * integer(1, 5), static_cast<int>(parameter.least),
                                       static_cast<int>(parameter.most));
        while (std::ssize(values) < numbers)
          values.push_back(integer(0, 2) == 0 ? 0 : real(parameter.minimum, parameter.maximum));
        continue;
      }
      double value = real(parameter.minimum, parameter.maximum);
      if (integer(0, 3) == 0) value = integer(0, 1) == 0 ? parameter.minimum : parameter.maximum;
      if (integer(0, 3) == 0)
        value = std::clamp(double(integer(-3, 3)) * 30, parameter.minimum, parameter.maximum);
      if (integer(0, 3) == 0) value *= 0.1;
      if (parameter.type != ParameterType::real) value = std::round(value);
      values.push_back(std::clamp(value, parameter.minimum, parameter.maximum));
    }
    return values;
  }

  // From one pixel to the largest frame that is accepted.
  Size any_size() {
    const auto length = [&] {
      switch (integer(0, 5)) {
      case 0:
        return 1;
      case 1:
        return integer(1, 5);
      case 2:
        return integer(1000, video::max_dimension);
      default:
        return integer(1, 200);
      }
    };
    return {length(), length()};
  }

  // Luma, or chroma with any subsampling.
  PlaneGeometry any_plane() {
    static constexpr video::Chroma chromas[] = {video::Chroma::gray, video::Chroma::c420, video::Chroma::c422,
                                                video::Chroma::c444};
    const Size size = any_size();
    const video::FrameFormat format{
        .width = size.width, .height = size.height, .chroma = chromas[integer(0, 3)]};
    return plane_geometry(format, integer(0, video::plane_count(format.chroma) - 1));
  }

  // Small enough to evaluate, anywhere in the frame including its corners.
  Rect any_rect(Size size) {
    const int width = std::min(integer(1, 24), size.width);
    const int height = std::min(integer(1, 24), size.height);
    const auto place = [&](int room) {
      return integer(0, 3) == 0 ? (integer(0, 1) == 0 ? 0 : room) : integer(0, room);
    };
    const int x = place(size.width - width);
    const int y = place(size.height - height);
    return {x, y, x + width, y + height};
  }

  // A stage with its filter on a random plane. Crops that leave nothing are drawn again.
  StageLayout any_stage() {
    const Filter& filter = *find_simple_filter(GetParam().name);
    for (;;) {
      ParameterValues values = any_values(filter);
      const PlaneGeometry geometry = any_plane();
      if (GetParam().name.starts_with("resample_")) {
        // Arguments as `resize` gives them. Their tables take long for the largest frames.
        if (std::max(geometry.size.width, geometry.size.height) > 300) continue;
        const int step = filter.name == "resample_x" ? geometry.step_x : geometry.step_y;
        values[1] = integer(1, 300);
        values[0] = (static_cast<int>(values[1]) + step - 1) / step;
        values[3] = (filter.name == "resample_x" ? geometry.luma.width : geometry.luma.height) / values[1];
      }
      if (GetParam().name.starts_with("block_mean_")) {
        // Arguments as `resize` gives them: the size is a multiple of n.
        const int n = GetParam().name.back() - '0';
        if (std::min(geometry.size.width, geometry.size.height) < n) continue;
        values = {double(geometry.size.width / n), double(geometry.size.height / n),
                  double(geometry.luma.width / n), double(geometry.luma.height / n)};
      }
      if (GetParam().name == "pad")  // otherwise few rectangles are inside
        std::ranges::generate_n(values.begin(), 4, [&] { return integer(0, 12); });
      if (GetParam().name == "bilateral") values[0] = real(0.5, 1.2);  // larger windows are slow
      if (GetParam().name == "place") {
        const auto near = [&](int length) { return double(std::max(1, length + integer(-9, 9))); };
        values = {double(integer(-12, 12)),   double(integer(-12, 12)),    near(geometry.size.width),
                  near(geometry.size.height), double(geometry.luma.width), double(geometry.luma.height)};
      }
      if (GetParam().name == "perspective") {
        const double w = geometry.luma.width;
        const double h = geometry.luma.height;
        values = {0, 0, w, 0, 0, h, w, h};
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] += real(-0.4, 0.4) * (i % 2 == 0 ? w : h);
      }
      const auto output = filter.output(geometry, values);
      if (!output) continue;
      // If all weights are 0, nothing is read.
      if (GetParam().name == "convolve" && std::ranges::count(values, 0.0) == std::ssize(values)) continue;
      return {.filter = &filter,
              .node = 0,
              .inputs = std::vector<int>(static_cast<std::size_t>(filter.inputs), StageLayout::source),
              .input = geometry,
              .output = *output,
              .coefficients = filter.simple().coefficients(geometry, values)};
    }
  }

  static std::string describe(const StageLayout& stage, const Rect& rect) {
    std::string text = fmt::format("{} with", stage.filter->name);
    for (float coefficient : stage.coefficients)
      text += fmt::format(" {}", coefficient);
    return text + fmt::format(" on {}x{}, [{},{})x[{},{})", stage.input.size.width, stage.input.size.height,
                              rect.x0, rect.x1, rect.y0, rect.y1);
  }

  static constexpr int rounds = 3000;
  std::mt19937 generator_{20240229};
};

TEST_P(Footprint, HoldsEveryPixelThatIsRead) {
  for (int round = 0; round < rounds; ++round) {
    const StageLayout stage = any_stage();
    const Rect rect = any_rect(stage.output.size);
    WatchedPicture picture(stage.input.size);
    ScalarAlgebra algebra(picture, stage.input, stage.coefficients);
    for (int y = rect.y0; y < rect.y1; ++y) {
      for (int x = rect.x0; x < rect.x1; ++x)
        static_cast<void>(stage.filter->simple().pixel(algebra, x, y));
    }
    ASSERT_TRUE(picture.stayed_inside()) << describe(stage, rect);
    ASSERT_TRUE(stage.required(rect).contains(picture.read_rect())) << describe(stage, rect);
    ASSERT_TRUE(whole(stage.input.size).contains(stage.required(rect))) << describe(stage, rect);
  }
}

TEST_P(Footprint, InteriorNeedsNoClampingAndGivesTheSameBits) {
  int interiors = 0;
  for (int round = 0; round < rounds; ++round) {
    const StageLayout stage = any_stage();
    const Rect rect = any_rect(stage.output.size);
    if (!stage.interior(rect)) continue;
    ++interiors;
    WatchedPicture picture(stage.input.size);
    ScalarAlgebra careful(picture, stage.input, stage.coefficients);
    InteriorAlgebra bold(picture, stage.input, stage.coefficients);
    for (int y = rect.y0; y < rect.y1; ++y) {
      for (int x = rect.x0; x < rect.x1; ++x) {
        ASSERT_EQ(GetParam().interior_pixel(bold, x, y), stage.filter->simple().pixel(careful, x, y))
            << describe(stage, rect);
      }
    }
    ASSERT_TRUE(picture.stayed_inside()) << describe(stage, rect);
  }
  EXPECT_GT(interiors, rounds / 20) << "too few rectangles lie in the interior to show anything";
}

// Allows two pixels on each side for rounding. Lens parameters are realistic, with an allowance for the bound
// of the slope.
TEST_P(Footprint, IsHardlyLargerThanWhatIsRead) {
  constexpr int margin = 4;
  int interiors = 0;
  for (int round = 0; round < rounds; ++round) {
    StageLayout stage = any_stage();
    double slack = 1;
    if (stage.filter->name == "undistort") {
      stage.coefficients =
          stage.filter->simple().coefficients(stage.input, {real(-0.2, 0.2), real(-0.05, 0.05)});
      slack = 1.1;
    }
    const Rect rect = any_rect(stage.output.size);
    // Rows that are kept read nothing around them.
    const bool keeps_rows = GetParam().name == "field_rows" || GetParam().name == "moving_rows";
    if (keeps_rows && rect.height() < 2) continue;
    if (!stage.interior(rect)) continue;
    ++interiors;
    WatchedPicture picture(stage.input.size);
    ScalarAlgebra algebra(picture, stage.input, stage.coefficients);
    for (int y = rect.y0; y < rect.y1; ++y) {
      for (int x = rect.x0; x < rect.x1; ++x)
        static_cast<void>(stage.filter->simple().pixel(algebra, x, y));
    }
    const Rect declared = stage.required(rect);
    const Rect read = picture.read_rect();
    ASSERT_LE(declared.width(), read.width() * slack + margin) << describe(stage, rect);
    ASSERT_LE(declared.height(), read.height() * slack + margin) << describe(stage, rect);
  }
  EXPECT_GT(interiors, rounds / 20) << "too few rectangles lie in the interior to show anything";
}

// Executors rely on this when they compute a larger rectangle than requested.
TEST_P(Footprint, OfAPartLiesInThatOfTheWhole) {
  for (int round = 0; round < rounds; ++round) {
    const StageLayout stage = any_stage();
    const Rect rect = any_rect(stage.output.size);
    const int x = integer(rect.x0, rect.x1 - 1);
    const int y = integer(rect.y0, rect.y1 - 1);
    const Rect part{x, y, integer(x + 1, rect.x1), integer(y + 1, rect.y1)};
    ASSERT_TRUE(stage.required(rect).contains(stage.required(part))) << describe(stage, rect);
    ASSERT_TRUE(!stage.interior(rect) || stage.interior(part)) << describe(stage, part);
  }
}

TEST_P(Footprint, OfNothingIsNothing) {
  for (int round = 0; round < 100; ++round) {
    EXPECT_TRUE(any_stage().required({5, 5, 5, 9}).empty());
    EXPECT_TRUE(any_stage().required({}).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, Footprint, testing::ValuesIn(every_filter()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace millrace::image
