// A pipeline as a TOML file: one [[stage]] for each use of a filter, in the order in which they run. Unlike
// the pipeline language it can express every graph, and it leaves room for comments.
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
// filter   the filter's name; required
// name     what later stages call this one; unique, not "source" or "second"
// input    for a filter of one input: the name of an earlier stage, "source" for the frame as it came in, or
//          "second" for that of the second video. Default: the stage before, for the first stage the source
// inputs   the same for any number of inputs; required for a filter of several
// others   parameters of the filter: numbers, and choices as strings
//
// The last stage is the output. Every other one must lead to it.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace millrace::image {

inline constexpr std::size_t max_pipeline_file = std::size_t{1} << 20;  // bytes; larger files are refused

// The pipeline that the text of a TOML file means, in canonical order. Errors are usage errors, one line each
// that begins with the place: "edges.toml:12: ...". Pure; safe from any thread. own: as of parse_pipeline.
[[nodiscard]] Result<Pipeline> parse_pipeline_toml(std::string_view text, std::string_view file_name,
                                                   std::span<const FilterRef> own = {});

// The same from a file or pipe. A file that cannot be read is a usage error that says why; interrupted where
// a wait for a pipe is stopped.
[[nodiscard]] Result<Pipeline> read_pipeline_toml(const std::string& path, const std::stop_token& stop = {},
                                                  std::span<const FilterRef> own = {});

// The text of a TOML file that reads back as an equal pipeline. Needs canonical order.
[[nodiscard]] std::string to_toml(const Pipeline& pipeline);

}  // namespace millrace::image
