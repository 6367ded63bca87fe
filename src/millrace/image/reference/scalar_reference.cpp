#include "millrace/image/reference/scalar_reference.h"

#include "millrace/image/filter/algebra.h"

#include <cstdint>
#include <utility>

namespace millrace::image {
namespace {

class WholeImages final : public PixelSource {
 public:
  explicit WholeImages(std::vector<const ScalarImage*> inputs) : inputs_(std::move(inputs)) {}

  float read(int input, int x, int y) override { return inputs_[input]->at(x, y); }

 private:
  std::vector<const ScalarImage*> inputs_;
};

template <class Sample> ScalarImage copy_of(const video::PlaneView& plane) {
  ScalarImage image{.size = {plane.width, plane.height}, .pixels = {}};
  image.pixels.reserve(image.size.pixels());
  for (int y = 0; y < plane.height; ++y) {
    const Sample* row = plane.row<const Sample>(y);
    image.pixels.insert(image.pixels.end(), row, row + plane.width);
  }
  return image;
}

ScalarImage evaluate(const StageLayout& stage, std::vector<const ScalarImage*> inputs) {
  WholeImages source(std::move(inputs));
  ScalarAlgebra algebra(source, stage.input, stage.coefficients);
  const Size size = stage.output.size;
  ScalarImage image{.size = size, .pixels = {}};
  image.pixels.reserve(size.pixels());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x)
      image.pixels.push_back(stage.filter->simple().pixel(algebra, x, y));
  }
  return image;
}

}  // namespace

ScalarImage scalar_image(const video::PlaneView& plane, ElementType type) {
  return type == ElementType::u8 ? copy_of<std::uint8_t>(plane) : copy_of<std::uint16_t>(plane);
}

std::vector<ScalarImage> scalar_stages(const PlaneLayout& layout, std::span<const ScalarImage> sources) {
  const auto source = [&](int input) {
    return &sources[sources.size() == 1 ? 0 : StageLayout::source_frame(input)];
  };
  std::vector<ScalarImage> images;
  images.reserve(layout.stages.size());
  for (const StageLayout& stage : layout.stages) {
    std::vector<const ScalarImage*> inputs;
    inputs.reserve(stage.inputs.size());
    for (int input : stage.inputs) {
      inputs.push_back(StageLayout::is_source(input) ? source(input) : &images[input]);
    }
    images.push_back(evaluate(stage, std::move(inputs)));
  }
  return images;
}

ScalarImage scalar_reference(const PlaneLayout& layout, std::span<const ScalarImage> sources) {
  if (layout.is_neutral()) {
    const Size size = layout.output.size;
    return {.size = size, .pixels = std::vector<float>(size.pixels(), layout.neutral)};
  }
  return std::move(scalar_stages(layout, sources).back());
}

}  // namespace millrace::image
