// Detects whether an input has changed since an earlier batch.
#pragma once

#include "millrace/run/batch/kept_record.h"

#include <optional>
#include <string>

namespace millrace::run {

// For a file as in stamp_of(); for numbered pictures, one stamp over all of them; constant for generated
// video. Nullopt if changes cannot be detected: for pipes, devices and missing files.
[[nodiscard]] std::optional<FileStamp> stamp_of_input(const std::string& input);

}  // namespace millrace::run
