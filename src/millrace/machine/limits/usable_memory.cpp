#include "millrace/machine/limits/usable_memory.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/machine/limits/cgroup_limits.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include <sys/resource.h>

namespace millrace::machine {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// Parses "MemAvailable:   123 kB".
std::uint64_t available(std::string_view meminfo) {
  constexpr std::string_view label = "MemAvailable:";
  const std::size_t at = meminfo.find(label);
  if (at == std::string_view::npos) return unlimited;
  std::string_view number = meminfo.substr(at + label.size());
  number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
  const auto kilobytes = parse_number<std::uint64_t>(number.substr(0, number.find(' ')));
  return kilobytes ? *kilobytes * 1024 : unlimited;
}

}  // namespace

std::uint64_t usable_memory(const std::filesystem::path& root) {
  std::uint64_t bytes = available(read_system_file(root / "proc/meminfo").value_or(""));
  bytes = std::min(bytes, read_cgroup_limits(root).memory.value_or(unlimited));
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::uint64_t>(bytes, space.rlim_cur);
  return bytes;
}

}  // namespace millrace::machine
