// The pipelines that have a name, and what a user may write where a pipeline is wanted.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <span>
#include <stop_token>
#include <string_view>

namespace millrace::image {

struct Preset {
  std::string_view name;  // with its '@'
  std::string_view text;  // in the pipeline language
};

// The seven pipelines of the paper on execution structures, sorted by name.
[[nodiscard]] std::span<const Preset> presets();

// The pipeline that a command line argument means: a preset where it begins with '@', a TOML file where it
// ends in ".toml" (pipeline_toml.h), else text in the pipeline language. Usage errors, one line each. Reads
// that file and nothing else, interrupted where a wait for it is stopped; safe from any thread. own: as of
// parse_pipeline.
[[nodiscard]] Result<Pipeline> load_pipeline(std::string_view argument, const std::stop_token& stop = {},
                                             std::span<const FilterRef> own = {});

// Whether a pipeline can have these filters of its own: usage error where two have one name, or the name is
// taken by one of this program, or one of theirs means something else to a reader of pipelines.
[[nodiscard]] Status check_own_filters(std::span<const FilterRef> own);

}  // namespace millrace::image
