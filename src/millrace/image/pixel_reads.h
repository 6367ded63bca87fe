// How many source pixels the stages of a plan read, for the orders in which structures demand them: the
// measure of table III of "Execution Structures" that says what recomputing costs and what demand saves.
#pragma once

#include "millrace/image/plan.h"
#include "millrace/image/scalar_reference.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

enum class DemandOrder {
  sequential,       // every stage over its whole frame
  backward,         // each output pixel recomputes what it needs, recursively; nothing is stored
  backward_cached,  // on demand, and no pixel of a stage is computed twice (granules of one pixel)
};
inline constexpr std::array demand_orders{DemandOrder::sequential, DemandOrder::backward,
                                          DemandOrder::backward_cached};

// The name of the structure that demands pixels in this order: "backward-cached".
[[nodiscard]] std::string_view to_string(DemandOrder order);

// The pixels that one stage reads from all of its inputs together.
struct StageReads {
  std::string name;  // of the filter
  std::int64_t pixels =
      0;  // what a rate is relative to: pixels of the plan's source; crop: of its own output
  std::array<double, demand_orders.size()> reads{};  // whole numbers, exact up to 2^53

  [[nodiscard]] double per_pixel(DemandOrder order) const {
    return reads[static_cast<std::size_t>(order)] / static_cast<double>(pixels);
  }
};

struct PixelReads {
  Size frame;  // the plan's source
  std::vector<StageReads> stages;
};

// Counts by evaluating every pixel of every stage with the scalar algebra and watching what it reads; the
// time grows with pixels times stages, even for `backward`. source: as for scalar_reference.
[[nodiscard]] PixelReads count_pixel_reads(const PlanePlan& plan, const ScalarImage& source);

}  // namespace millrace::image
