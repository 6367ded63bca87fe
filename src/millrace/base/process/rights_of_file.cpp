#include "millrace/base/process/rights_of_file.h"

#include <array>
#include <cstdint>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace millrace {
namespace {

std::uint64_t permitted_capabilities() {
  constexpr int word_bits = 32;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return 0;
  return sets[0].permitted | std::uint64_t{sets[1].permitted} << word_bits;
}

bool is_ambient(int capability) {
  return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1;
}

// Capabilities of a non-root user are the user's own, inherited as ambient capabilities, or come from the
// program's file.
bool has_capabilities_of_file() {
  if (getuid() == 0) return false;
  const std::uint64_t permitted = permitted_capabilities();
  constexpr int most = 64;
  for (int capability = 0; capability < most; ++capability)
    if ((permitted >> capability & 1) != 0 && !is_ambient(capability)) return true;
  return false;
}

}  // namespace

std::string rights_of_file() {
  if (getuid() != geteuid() || getgid() != getegid())
    return "its file is set-user-ID or set-group-ID, which would hand out the rights of that user to "
           "everybody; "
           "remove it: chmod u-s,g-s FILE";
  if (has_capabilities_of_file())
    return "its file has capabilities, which would hand them out to everybody; remove them (setcap -r FILE) "
           "and "
           "give them to users instead: see docs/exec.md, \"Rights\"";
  return "";
}

}  // namespace millrace
