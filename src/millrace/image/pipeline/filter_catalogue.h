// The output of `millrace filters`: every filter with its parameters, and the presets.
#pragma once

#include "millrace/image/filter/filter.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/pipeline/presets.h"

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::image {

// Text in aligned columns for a terminal 80 columns wide, with wrapped descriptions. Ends with a line break.
[[nodiscard]] std::string catalogue_text(std::span<const Filter> filters = all_filters(),
                                         std::span<const Preset> named = presets());

// JSON for programs: {"filters": [{"name", "summary", "inputs", "geometric", "chroma":
// "filtered"|"passes"|"neutral", "parameters": [{"name", "summary", "type": "real"|"integer"|"choice",
// "required", ...}]}], "presets": [{"name", "pipeline"}]}. Numbers have "minimum" and "maximum", and "unit"
// if they have one. Choices have "choices"; optional parameters have "default".
[[nodiscard]] nlohmann::ordered_json catalogue_json(std::span<const Filter> filters = all_filters(),
                                                    std::span<const Preset> named = presets());

}  // namespace millrace::image
