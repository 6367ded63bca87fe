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
// Every branch of a fan-out starts from the fan-out's input. The next stage takes one input from each branch,
// in order. The branch `input` is the fan-out's input, unchanged: `[input, blur] | magnitude`. Fan-outs nest.
// A fan-out with a single branch means the same as that branch without brackets. The word `second` stands for
// the second video: `[input, second | blur] | blend(screen)`.
//
// Arguments are positional in the order of the filter's parameters, then named. Numbers are decimal, with
// optional sign and exponent, in every locale. White space between words is ignored.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::image {

// The branch that passes its input through. No filter may have this name.
inline constexpr std::string_view identity_branch = "input";
// Stands for the second video. No filter may have this name either.
inline constexpr std::string_view second_video = "second";

// Limits that keep any input from exhausting the stack or memory. A pipeline of max_stages stages always
// fits, because each level of nesting needs a stage that joins its branches.
inline constexpr std::size_t max_pipeline_text = 65536;  // bytes
inline constexpr std::size_t max_nesting = max_stages;   // fan-outs within fan-outs

// Parses a pipeline and returns it in canonical order. Errors are usage errors of one line that begins with
// the position: "pipeline column 8: unknown filter 'bluur'; did you mean 'blur'? ...". Columns count
// characters (UTF-8) from 1. Pure; safe from any thread. `own`: filters that the text may name in addition to
// the built-in ones, see check_own_filters.
[[nodiscard]] Result<Pipeline> parse_pipeline(std::string_view text, std::span<const FilterRef> own = {});

// The canonical spelling: required parameters by position, others by name and only if they differ from their
// defaults, numbers as short as possible. parse_pipeline reads it back as an equal pipeline. Returns nothing
// if the language cannot express the graph because branches of a fan-out share a stage; pipeline_toml.h can.
// Requires canonical order.
[[nodiscard]] std::optional<std::string> to_language(const Pipeline& pipeline);

}  // namespace millrace::image
