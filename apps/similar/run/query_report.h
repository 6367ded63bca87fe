// Reports the answers to a query as text and JSON.
#pragma once

#include "similar/index/image_index.h"
#include "similar/run/query_run.h"

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::similar {

// The path of the query image, then one line per answer: two spaces, distance, path. Empty for an image that
// could not be read.
[[nodiscard]] std::string to_text(const QueryAnswer& answer, const ImageIndex& index);

// [{"image", "regions", "candidates", "answers": [{"image", "distance"}]} or {"image", "error"}]
[[nodiscard]] nlohmann::json to_json(std::span<const QueryAnswer> answers, const ImageIndex& index);

}  // namespace millrace::similar
