// What a daemon's replies look like to a person. Pure: whatever the reply holds, it is shown as far as it
// goes.
#pragma once

#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// Text of one look: none, a heading, or the colour of a unit.
struct ViewPart {
  std::string text;
  bool heading = false;
  std::optional<machine::SharedUnit> unit;
};
using ViewLine = std::vector<ViewPart>;
[[nodiscard]] std::string to_text(const ViewLine& line);
[[nodiscard]] std::string to_text(const std::vector<ViewLine>& lines);

// `width` letters that share out the bar as the work of a thread is: i(nt), f(p), s(imd), 1, 2, L(LC),
// d(ram); as much of it as the thread computes of the time, blanks behind.
[[nodiscard]] ViewLine unit_bar(const nlohmann::json& demand, double busy, std::size_t width);

// Of Status: the daemon, and a line for each program.
[[nodiscard]] std::vector<ViewLine> status_view(const nlohmann::json& status);
// Of Status with threads: groups of PUs with who is on them, programs, their busiest threads with unit bars.
[[nodiscard]] std::vector<ViewLine> top_view(const nlohmann::json& status, std::size_t width);
// Of Explain: all that is known of one program.
[[nodiscard]] std::vector<ViewLine> explain_view(const nlohmann::json& explained);

}  // namespace millrace::placement
