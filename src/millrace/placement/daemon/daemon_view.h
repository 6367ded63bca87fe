// Formats the daemon's replies for people. Pure. Malformed replies are shown as far as they go.
#pragma once

#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// A piece of text with one style: plain, heading, or the colour of a unit.
struct ViewPart {
  std::string text;
  bool heading = false;
  std::optional<machine::SharedUnit> unit;
};
using ViewLine = std::vector<ViewPart>;
[[nodiscard]] std::string to_text(const ViewLine& line);
[[nodiscard]] std::string to_text(const std::vector<ViewLine>& lines);

// A bar of `width` columns whose letters show the thread's mix of work: i(nt), f(p), s(imd), 1, 2, L(LC),
// d(ram). Its filled part is the share of the time that the thread computes; the rest is blank.
[[nodiscard]] ViewLine unit_bar(const nlohmann::json& demand, double busy, std::size_t width);

// For Status: the daemon, and a line for each program.
[[nodiscard]] std::vector<ViewLine> status_view(const nlohmann::json& status);
// For Status with threads: groups of PUs with the threads on them, programs, and their busiest threads with
// unit bars.
[[nodiscard]] std::vector<ViewLine> top_view(const nlohmann::json& status, std::size_t width);
// For Explain: everything known about one program.
[[nodiscard]] std::vector<ViewLine> explain_view(const nlohmann::json& explained);

}  // namespace millrace::placement
