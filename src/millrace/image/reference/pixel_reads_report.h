// Formats counts of pixel reads for people and programs: the output of `millrace run --count`.
#pragma once

#include "millrace/image/reference/pixel_reads.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::image {

// A table of reads per pixel with a line for each stage and a column for each order. Ends with a newline.
[[nodiscard]] std::string to_text(const PixelReads& counted);

// {"frame": {"width", "height"}, "stages": [{"name", "pixels", "reads": {...}, "reads_per_pixel": {...}}]};
// the last two have a number for each order. Keys are stable; others may be added.
[[nodiscard]] nlohmann::json to_json(const PixelReads& counted);

}  // namespace millrace::image
