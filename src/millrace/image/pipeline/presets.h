// Named pipelines, and the reader for pipeline arguments of the command line.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <span>
#include <stop_token>
#include <string_view>

namespace millrace::image {

struct Preset {
  std::string_view name;  // including the '@'
  std::string_view text;  // in the pipeline language
};

// The seven pipelines of the paper on execution structures, sorted by name.
[[nodiscard]] std::span<const Preset> presets();

// Reads a pipeline argument: a preset if it begins with '@', a TOML file if it ends in ".toml"
// (pipeline_toml.h), else text in the pipeline language. Errors are usage errors of one line. Reads no other
// file; a wait for it ends with an `interrupted` error when `stop` is requested. Safe from any thread. own:
// see parse_pipeline.
[[nodiscard]] Result<Pipeline> load_pipeline(std::string_view argument, const std::stop_token& stop = {},
                                             std::span<const FilterRef> own = {});

// Checks a pipeline's own filters. Returns a usage error if two have the same name, or a name belongs to a
// built-in filter or has a meaning in the pipeline language or TOML.
[[nodiscard]] Status check_own_filters(std::span<const FilterRef> own);

}  // namespace millrace::image
