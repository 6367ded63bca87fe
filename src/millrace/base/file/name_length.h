// Whether the file system can hold a name as long as this.
#pragma once

#include "millrace/base/error/result.h"

#include <string>

namespace millrace {

// Usage error, without the name itself, if it or its path is too long. Call it before long work whose output
// is to get this name. If a folder of the path does not exist, nothing is known about the names in it.
[[nodiscard]] Status check_name_length(const std::string& path);

}  // namespace millrace
