#include "millrace/placement/apply/run_times_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {

std::optional<RunTimes> RunTimesReader::read(pid_t process, pid_t thread) {
  constexpr std::size_t most_open_files = 256;
  Descriptor opened;
  const auto kept = files_.find(thread);
  if (kept == files_.end()) {
    opened = Descriptor::owned(
        open(fmt::format("/proc/{}/task/{}/schedstat", process, thread).c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.is_open()) return std::nullopt;
  }
  const int file = kept == files_.end() ? opened.get() : kept->second.get();
  std::array<char, 96> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (opened.is_open() && files_.size() < most_open_files) files_.emplace(thread, std::move(opened));
  return parse_schedstat({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
}

}  // namespace millrace::placement
