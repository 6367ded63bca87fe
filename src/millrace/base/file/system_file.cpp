#include "millrace/base/file/system_file.h"

#include "millrace/base/descriptor/descriptor.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

namespace millrace {

std::optional<std::string> read_system_file(const std::string& path) {
  const auto file = Descriptor::owned(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::string content;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t size = read(file.get(), part.data(), part.size());
    if (size == 0) return content;
    if (size > 0)
      content.append(part.data(), static_cast<std::size_t>(size));
    else if (errno != EINTR)
      return std::nullopt;
  }
}

}  // namespace millrace
