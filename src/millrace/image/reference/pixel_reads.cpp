// Filters are pure: a pixel that the backward order computes n times reads the same pixels n times. So each
// pixel is evaluated and observed once, and its reads are multiplied: by n for `backward`, by one for
// `backward-cached` if n > 0, by one for `sequential`. Stages are processed from last to first, because the
// demand for a stage is complete only after all its readers. Direct recursion would take 9^n reads for n
// blurs; the tests compare both.
#include "millrace/image/reference/pixel_reads.h"

#include "millrace/image/filter/algebra.h"

#include <utility>

namespace millrace::image {
namespace {

// How often the backward order computes each pixel of a stage, row by row.
using Uses = std::vector<double>;

struct WatchedInput {
  const ScalarImage* image = nullptr;
  Uses* uses = nullptr;  // counts requests for pixels; null for the layout's source, which is not computed
};

class WatchingSource final : public PixelSource {
 public:
  explicit WatchingSource(std::vector<WatchedInput> inputs) : inputs_(std::move(inputs)) {}

  // Sets how often the backward order computes the pixel whose reads follow.
  void set_uses(double uses) { uses_ = uses; }

  float read(int input, int x, int y) override {
    const WatchedInput& from = inputs_[input];
    const std::size_t index = from.image->index(x, y);
    ++sequential_;
    backward_ += uses_;
    if (uses_ > 0) ++cached_;
    if (from.uses != nullptr) (*from.uses)[index] += uses_;
    return from.image->pixels[index];
  }

  // In the order of counted_structures.
  [[nodiscard]] std::array<double, counted_structures.size()> reads() const {
    return {static_cast<double>(sequential_), backward_, static_cast<double>(cached_)};
  }

 private:
  std::vector<WatchedInput> inputs_;
  double uses_ = 0;
  std::int64_t sequential_ = 0;
  double backward_ = 0;
  std::int64_t cached_ = 0;
};

void watch(const StageLayout& stage, const Uses& uses, WatchingSource& source) {
  ScalarAlgebra algebra(source, stage.input, stage.coefficients);
  std::size_t pixel = 0;
  for (int y = 0; y < stage.output.size.height; ++y) {
    for (int x = 0; x < stage.output.size.width; ++x) {
      source.set_uses(uses[pixel++]);
      static_cast<void>(stage.filter->simple().pixel(algebra, x, y));  // only to observe its reads
    }
  }
}

}  // namespace

PixelReads count_pixel_reads(const PlaneLayout& layout, const ScalarImage& source) {
  const std::vector<ScalarImage> images = scalar_stages(layout, std::span(&source, 1));
  std::vector<Uses> uses;
  uses.reserve(images.size());
  for (const ScalarImage& image : images)
    uses.emplace_back(image.pixels.size());
  uses.back().assign(uses.back().size(), 1);

  PixelReads result{.frame = source.size, .stages = std::vector<StageReads>(layout.stages.size())};
  for (std::size_t s = layout.stages.size(); s-- > 0;) {
    const StageLayout& stage = layout.stages[s];
    std::vector<WatchedInput> inputs;
    inputs.reserve(stage.inputs.size());
    for (int input : stage.inputs) {
      inputs.push_back(StageLayout::is_source(input)
                           ? WatchedInput{.image = &source}
                           : WatchedInput{.image = &images[input], .uses = &uses[input]});
    }
    WatchingSource watching(std::move(inputs));
    watch(stage, uses[s], watching);
    const bool resizes = stage.output.size != stage.input.size;
    result.stages[s] = {.name = stage.name,
                        .pixels = (resizes ? stage.output.size : source.size).pixels(),
                        .of_own_output = resizes,
                        .reads = watching.reads()};
  }
  return result;
}

}  // namespace millrace::image
