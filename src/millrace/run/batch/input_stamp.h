// Whether an input is still what it was.
#pragma once

#include "millrace/run/batch/kept_record.h"

#include <optional>
#include <string>

namespace millrace::run {

// Of a file as stamp_of(), of numbered pictures all of theirs in one; of what is generated always the same.
// Nothing where nobody can know: pipes, devices, what is not there.
[[nodiscard]] std::optional<FileStamp> stamp_of_input(const std::string& input);

}  // namespace millrace::run
