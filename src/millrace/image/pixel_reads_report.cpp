#include "millrace/image/pixel_reads_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr std::string_view stage_heading = "stage";
constexpr std::size_t gap = 2;

std::string cell(const StageReads& stage, DemandOrder order) {
  return fmt::format("{:.2f}", stage.per_pixel(order));
}

}  // namespace

std::string to_text(const PixelReads& counted) {
  std::size_t name_width = stage_heading.size();
  for (const StageReads& stage : counted.stages)
    name_width = std::max(name_width, stage.name.size());
  std::array<std::size_t, demand_orders.size()> widths{};
  for (std::size_t i = 0; i < demand_orders.size(); ++i) {
    widths[i] = to_string(demand_orders[i]).size();
    for (const StageReads& stage : counted.stages) {
      widths[i] = std::max(widths[i], cell(stage, demand_orders[i]).size());
    }
  }

  const bool crops = std::ranges::find(counted.stages, "crop", &StageReads::name) != counted.stages.end();
  std::string text = fmt::format("source pixels read per pixel of the {}x{} frame{}\n", counted.frame.width,
                                 counted.frame.height, crops ? " (crop: of its own output)" : "");
  const auto add_line = [&](std::string_view name, auto&& cell_of) {
    text += fmt::format("{:<{}}", name, name_width);
    for (std::size_t i = 0; i < demand_orders.size(); ++i) {
      text += fmt::format("{:>{}}", cell_of(demand_orders[i]), widths[i] + gap);
    }
    text += '\n';
  };
  add_line(stage_heading, [](DemandOrder order) { return to_string(order); });
  for (const StageReads& stage : counted.stages) {
    add_line(stage.name, [&](DemandOrder order) { return cell(stage, order); });
  }
  return text;
}

nlohmann::json to_json(const PixelReads& counted) {
  nlohmann::json stages = nlohmann::json::array();
  for (const StageReads& stage : counted.stages) {
    nlohmann::json reads;
    nlohmann::json reads_per_pixel;
    for (DemandOrder order : demand_orders) {
      reads[std::string(to_string(order))] = stage.reads[static_cast<std::size_t>(order)];
      reads_per_pixel[std::string(to_string(order))] = stage.per_pixel(order);
    }
    stages.push_back({{"name", stage.name},
                      {"pixels", stage.pixels},
                      {"reads", std::move(reads)},
                      {"reads_per_pixel", std::move(reads_per_pixel)}});
  }
  return {{"frame", {{"width", counted.frame.width}, {"height", counted.frame.height}}},
          {"stages", std::move(stages)}};
}

}  // namespace millrace::image
