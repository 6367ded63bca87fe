// A pipeline as a TOML file: one [[stage]] for each use of a filter, in execution order. Unlike the pipeline
// language it can express every graph and allows comments.
//
//   [[stage]]
//   filter = "blur"                       # reads the source, since it is the first
//   name = "smooth"
//
//   [[stage]]
//   filter = "sobel_x"                    # reads the stage before
//   name = "horizontal"
//
//   [[stage]]
//   filter = "sobel_y"
//   name = "vertical"
//   input = "smooth"
//
//   [[stage]]
//   filter = "magnitude"
//   inputs = ["horizontal", "vertical"]
//
//   [[stage]]
//   filter = "threshold"
//   t = 0.1                               # parameters of the filter, by name
//   keep = "above"
//
// Keys of a stage:
//
//   filter   name of the filter; required
//   name     name of the stage for later stages; unique, not "source" or "second"
//   input    for a filter with one input: the name of an earlier stage, "source" for the source frame, or
//            "second" for the frame of the second video. Default: the previous stage, or the source
//   inputs   the same for any number of inputs; required for a filter with several
//   others   parameters of the filter: numbers, and choices as strings
//
// The last stage is the output. All others must lead to it.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace millrace::image {

inline constexpr std::size_t max_pipeline_file = std::size_t{1} << 20;  // limit in bytes

// Parses the text of a TOML file and returns the pipeline in canonical order. Errors are usage errors of one
// line that begins with the position: "edges.toml:12: ...". Pure; safe from any thread. own: see
// parse_pipeline.
[[nodiscard]] Result<Pipeline> parse_pipeline_toml(std::string_view text, std::string_view file_name,
                                                   std::span<const FilterRef> own = {});

// The same from a file or pipe. If the file cannot be read, returns a usage error with the reason. Returns an
// error of kind `interrupted` if `stop` ends a wait for a pipe.
[[nodiscard]] Result<Pipeline> read_pipeline_toml(const std::string& path, const std::stop_token& stop = {},
                                                  std::span<const FilterRef> own = {});

// The text of a TOML file that reads back as an equal pipeline. Requires canonical order.
[[nodiscard]] std::string to_toml(const Pipeline& pipeline);

}  // namespace millrace::image
