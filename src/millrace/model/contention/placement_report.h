// The output of `millrace simulate placement`.
#pragma once

#include "millrace/model/contention/placement_toml.h"
#include "millrace/model/contention/rule_comparison.h"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::model {

// A table of the rules, a table of the threads by name, and a picture of the placement by `units`.
[[nodiscard]] std::string to_text(const PlacementCase& placed, const std::vector<RuleOutcome>& outcomes);
[[nodiscard]] nlohmann::json to_json(const PlacementCase& placed, const std::vector<RuleOutcome>& outcomes);

}  // namespace millrace::model
