// Keeps calls of the library from waiting for a pipe.
#pragma once

#include "millrace/base/error/result.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace millrace::api {

// Whether `text` can be read as a pipeline without waiting. A file must be a regular one: the end of a pipe
// may never come, and the caller has no way to end the call.
[[nodiscard]] inline Status check_pipeline_file(const std::string& text) {
  if (!text.ends_with(".toml")) return {};
  std::error_code unknown;
  const auto status = std::filesystem::status(text, unknown);
  if (unknown || !std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
      std::filesystem::is_directory(status))
    return {};
  return usage_error("{}: is a pipe or a device; give a regular file, or the pipeline itself", text);
}

}  // namespace millrace::api
