#include "millrace/image/reference/pixel_reads_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr std::string_view stage_heading = "stage";
constexpr std::size_t gap = 2;

std::string cell(const StageReads& stage, Structure structure) {
  return fmt::format("{:.2f}", stage.per_pixel(structure));
}

}  // namespace

std::string to_text(const PixelReads& counted) {
  std::size_t name_width = stage_heading.size();
  for (const StageReads& stage : counted.stages)
    name_width = std::max(name_width, stage.name.size());
  std::array<std::size_t, counted_structures.size()> widths{};
  for (std::size_t i = 0; i < counted_structures.size(); ++i) {
    widths[i] = name_of(counted_structures[i]).size();
    for (const StageReads& stage : counted.stages) {
      widths[i] = std::max(widths[i], cell(stage, counted_structures[i]).size());
    }
  }

  std::string resizing;  // names of these stages
  for (const StageReads& stage : counted.stages) {
    if (stage.of_own_output && !resizing.contains(stage.name))
      resizing += (resizing.empty() ? "" : ", ") + stage.name;
  }
  std::string text = fmt::format("source pixels read per pixel of the {}x{} frame{}\n", counted.frame.width,
                                 counted.frame.height,
                                 resizing.empty() ? "" : fmt::format(" ({}: of its own output)", resizing));
  const auto add_line = [&](std::string_view name, auto&& cell_of) {
    text += fmt::format("{:<{}}", name, name_width);
    for (std::size_t i = 0; i < counted_structures.size(); ++i) {
      text += fmt::format("{:>{}}", cell_of(counted_structures[i]), widths[i] + gap);
    }
    text += '\n';
  };
  add_line(stage_heading, [](Structure structure) { return name_of(structure); });
  for (const StageReads& stage : counted.stages) {
    add_line(stage.name, [&](Structure structure) { return cell(stage, structure); });
  }
  return text;
}

nlohmann::json to_json(const PixelReads& counted) {
  nlohmann::json stages = nlohmann::json::array();
  for (const StageReads& stage : counted.stages) {
    nlohmann::json reads;
    nlohmann::json reads_per_pixel;
    for (Structure structure : counted_structures) {
      reads[std::string(name_of(structure))] = stage.in(structure);
      reads_per_pixel[std::string(name_of(structure))] = stage.per_pixel(structure);
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
