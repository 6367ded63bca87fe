#include "millrace/base/descriptor/descriptor_name.h"

#include "millrace/base/text/parse_number.h"

#include <system_error>

namespace millrace {

namespace fs = std::filesystem;

std::optional<int> descriptor_named(fs::path name) {
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  constexpr int most_links = 40;
  for (int links = 0; !error && links < most_links && fs::is_symlink(fs::symlink_status(name, error));
       ++links) {
    if (fs::canonical(name.parent_path() / ".", error) == descriptors)
      return parse_number<int>(name.filename().string());
    name = name.parent_path() / fs::read_symlink(name, error);
  }
  return std::nullopt;
}

}  // namespace millrace
