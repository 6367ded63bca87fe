// Parsing terminates for any content, and a parsed quota is positive.
#include "millrace/machine/limits/cgroup_limits.h"

#include <cstdlib>

// libFuzzer defines the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace millrace::machine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CgroupMembership& one : parse_cgroup_memberships(text))
    if (!one.path.starts_with('/')) std::abort();
  for (const CgroupMount& one : parse_cgroup_mounts(text))
    if (one.version != 1 && one.version != 2) std::abort();
  const auto half = text.size() / 2;
  for (const auto& quota : {parse_cpu_max(text), parse_cfs_quota(text.substr(0, half), text.substr(half))})
    if (quota && *quota && !(**quota > 0)) std::abort();
  return 0;
}
