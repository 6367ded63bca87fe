// The pipeline language: a pipeline in one line of text, such as
//
//   blur | [sobel_x, sobel_y] | magnitude | threshold(0.1)
//
//   pipeline  = chain
//   chain     = [ "second" "|" ] stage { "|" stage }
//   stage     = filter [ "(" [ argument { "," argument } ] ")" ] | fan-out
//   fan-out   = "[" branch { "," branch } "]"
//   branch    = chain | "input" | "second"
//   argument  = [ parameter "=" ] ( number | choice )
//
// Every branch of a fan-out starts from what reaches the fan-out; the stage after it takes one input from
// each branch, in order. The branch `input` is what reaches the fan-out, unchanged: `[input, blur] |
// magnitude`. Fan-outs nest. A single branch is the same without its brackets. The word `second` stands for
// the second video: `[input, second | blur] | blend(screen)`.
//
// Arguments are positional in the order of the filter's parameters, then by name. Numbers are decimal, with
// sign and exponent if need be, in every locale. White space between words means nothing.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::image {

// The branch that leaves what it gets as it is. No filter may have this name.
inline constexpr std::string_view identity_branch = "input";
// What comes from the second video. No filter may have this name either.
inline constexpr std::string_view second_video = "second";

// Bounds that no input gets past, so that none can exhaust the stack or the memory. A pipeline of max_stages
// stages always fits: one level of nesting needs a stage that joins its branches.
inline constexpr std::size_t max_pipeline_text = 65536;  // bytes
inline constexpr std::size_t max_nesting = max_stages;   // fan-outs within fan-outs

// The pipeline that the text means, in canonical order. Errors are usage errors, one line each that begins
// with the place: "pipeline column 8: unknown filter 'bluur'; did you mean 'blur'? ...". Columns count
// characters (UTF-8) of the text from 1. Pure; safe from any thread. `own`: filters that it may name beside
// those of this program, see check_own_filters.
[[nodiscard]] Result<Pipeline> parse_pipeline(std::string_view text, std::span<const FilterRef> own = {});

// The canonical spelling: required parameters by position, others by name and only where they differ from
// their defaults, numbers as short as they can be. parse_pipeline reads it back as an equal pipeline. None
// where the language cannot express the graph, because the branches of a fan-out share a stage;
// pipeline_toml.h can. Needs canonical order.
[[nodiscard]] std::optional<std::string> to_language(const Pipeline& pipeline);

}  // namespace millrace::image
