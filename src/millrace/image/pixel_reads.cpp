// A filter is pure: a pixel that the backward order computes n times reads the same pixels n times. So each
// pixel is evaluated once and watched, and its reads weigh as often as it is demanded: n times for
// `backward`, once for `backward-cached` where n > 0, once for `sequential`. Stages go last to first, since
// the demand for the pixels of a stage is complete when all its readers have been watched. Recursion, which
// would count one by one, takes 9^n reads for n blurs; the tests compare the two.
#include "millrace/image/pixel_reads.h"

#include "millrace/image/algebra.h"

#include <utility>

namespace millrace::image {
namespace {

// How often each pixel of a stage is computed by the backward order, row by row.
using Demand = std::vector<double>;

struct WatchedInput {
  const ScalarImage* image = nullptr;
  Demand* demand = nullptr;  // where a read asks for the pixel; null for the plan's source, which is there
};

class WatchingSource final : public PixelSource {
 public:
  explicit WatchingSource(std::vector<WatchedInput> inputs) : inputs_(std::move(inputs)) {}

  // How often the backward order computes the pixel whose reads come next.
  void set_demand(double demand) { demand_ = demand; }

  float read(int input, int x, int y) override {
    const WatchedInput& from = inputs_[static_cast<std::size_t>(input)];
    const std::size_t index = from.image->index(x, y);
    ++sequential_;
    backward_ += demand_;
    if (demand_ > 0) ++cached_;
    if (from.demand != nullptr) (*from.demand)[index] += demand_;
    return from.image->pixels[index];
  }

  // In the order of DemandOrder.
  [[nodiscard]] std::array<double, demand_orders.size()> reads() const {
    return {static_cast<double>(sequential_), backward_, static_cast<double>(cached_)};
  }

 private:
  std::vector<WatchedInput> inputs_;
  double demand_ = 0;
  std::int64_t sequential_ = 0;
  double backward_ = 0;
  std::int64_t cached_ = 0;
};

void watch(const PlannedStage& stage, const Demand& demand, WatchingSource& source) {
  ScalarAlgebra algebra(source, stage.input, stage.coefficients);
  std::size_t pixel = 0;
  for (int y = 0; y < stage.output.size.height; ++y) {
    for (int x = 0; x < stage.output.size.width; ++x) {
      source.set_demand(demand[pixel++]);
      static_cast<void>(stage.filter->pixel(algebra, x, y));  // for what it reads
    }
  }
}

}  // namespace

std::string_view to_string(DemandOrder order) {
  switch (order) {
  case DemandOrder::sequential:
    return "sequential";
  case DemandOrder::backward:
    return "backward";
  case DemandOrder::backward_cached:
    return "backward-cached";
  }
  return "";
}

PixelReads count_pixel_reads(const PlanePlan& plan, const ScalarImage& source) {
  const std::vector<ScalarImage> images = scalar_stages(plan, source);
  std::vector<Demand> demands;
  demands.reserve(images.size());
  for (const ScalarImage& image : images)
    demands.emplace_back(image.pixels.size());
  demands.back().assign(demands.back().size(), 1);

  PixelReads result{.frame = source.size, .stages = std::vector<StageReads>(plan.stages.size())};
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    const PlannedStage& stage = plan.stages[s];
    std::vector<WatchedInput> inputs;
    inputs.reserve(stage.inputs.size());
    for (int input : stage.inputs) {
      const auto i = static_cast<std::size_t>(input);
      inputs.push_back(input == PlannedStage::source
                           ? WatchedInput{.image = &source}
                           : WatchedInput{.image = &images[i], .demand = &demands[i]});
    }
    WatchingSource watching(std::move(inputs));
    watch(stage, demands[s], watching);
    const Size relative_to = stage.filter == find_filter("crop") ? stage.output.size : source.size;
    result.stages[s] = {
        .name = std::string(stage.filter->name), .pixels = relative_to.pixels(), .reads = watching.reads()};
  }
  return result;
}

}  // namespace millrace::image
