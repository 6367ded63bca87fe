// Histograms as JSON.
#pragma once

#include "millrace/base/histogram.h"

#include <nlohmann/json_fwd.hpp>

namespace millrace {

// {"count": n, "sum": s, "min": a, "max": b, "buckets": [[lower, count], ...]}; `lower` as in
// Histogram::Bucket, the bucket's upper end being lower + 2^floor(log2(lower)) / 16.
[[nodiscard]] nlohmann::json to_json(const Histogram& histogram);
// Failure, naming the field, unless it is what to_json() writes.
[[nodiscard]] Result<Histogram> histogram_from_json(const nlohmann::json& json);

}  // namespace millrace
