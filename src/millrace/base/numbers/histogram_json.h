// Histograms as JSON.
#pragma once

#include "millrace/base/numbers/histogram.h"

#include <nlohmann/json_fwd.hpp>

namespace millrace {

// {"count": n, "sum": s, "min": a, "max": b, "buckets": [[lower, count], ...]}. `lower` is that of
// Histogram::Bucket; the upper end of the bucket is lower + 2^floor(log2(lower)) / 16.
[[nodiscard]] nlohmann::json to_json(const Histogram& histogram);
// Reads the output of to_json(). For anything else it fails and names the field.
[[nodiscard]] Result<Histogram> histogram_from_json(const nlohmann::json& json);

}  // namespace millrace
