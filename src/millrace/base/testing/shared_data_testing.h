// Locates test data that is not part of the sources.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace millrace {

// The folder may not exist.
inline std::filesystem::path shared_data() {
  const char* const shared = std::getenv("MILLRACE_SHARED");
  return shared != nullptr ? std::filesystem::path(shared)
                           : std::filesystem::path(MILLRACE_SOURCE_DIR) / "../shared";
}

}  // namespace millrace
