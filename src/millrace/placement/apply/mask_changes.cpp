#include "millrace/placement/apply/mask_changes.h"

#include "millrace/base/text/parse_number.h"
#include "millrace/machine/limits/open_cpus.h"

#include <algorithm>
#include <utility>

#include <sys/utsname.h>

namespace millrace::placement {

using machine::CpuSet;

KernelMasks kernel_masks_of(std::string_view release) {
  const auto take_number = [&release] {
    const std::size_t end = std::min(release.find_first_not_of("0123456789"), release.size());
    const int number = parse_number<int>(release.substr(0, end)).value_or(0);
    release.remove_prefix(std::min(end + 1, release.size()));
    return number;
  };
  const int major = take_number();
  const int minor = take_number();
  return std::pair(major, minor) >= std::pair(6, 2) ? KernelMasks::remembers : KernelMasks::forgets;
}

KernelMasks kernel_masks() {
  static const KernelMasks masks = [] {
    utsname system{};
    return uname(&system) == 0 ? kernel_masks_of(system.release) : KernelMasks::remembers;
  }();
  return masks;
}

CpuSet confined(const CpuSet& asked, const CpuSet& open) {
  CpuSet left = asked & open;
  return left.empty() ? open : left;
}

bool is_made_of(const CpuSet& asked, const CpuSet& seen, const CpuSet& open) {
  if (seen == asked) return true;
  // No request can be empty: all CPUs of the mask are offline, and the thread sleeps.
  if (seen.empty()) return !asked.intersects(open);
  return !open.empty() && seen == confined(asked, open);
}

namespace {

MaskChanger who_changed_at_rest(const MaskHistory& history, KernelMasks kernel) {
  const auto& [asked, had, open_then, seen, open_now, open_changed, whole] = history;
  if (seen == had) return MaskChanger::nobody;
  if (seen.empty() || is_made_of(asked, seen, open_now)) return MaskChanger::kernel;
  if ((open_then == open_now && !open_changed) || seen != open_now) return MaskChanger::program;
  // The thread has all open CPUs, after those changed. This is the result if the kernel has forgotten the
  // request. A kernel that remembers also forgets when the last CPU of a mask goes offline; from then on the
  // mask is all open CPUs.
  return kernel == KernelMasks::forgets || had == open_then ? MaskChanger::kernel : MaskChanger::program;
}

}  // namespace

MaskChanger who_changed(const MaskHistory& history, KernelMasks kernel) {
  const MaskChanger changer = who_changed_at_rest(history, kernel);
  if (changer != MaskChanger::program || history.whole.empty()) return changer;
  const bool at_rest = (history.whole & history.open_now) == history.seen;
  return at_rest ? changer : MaskChanger::not_known_yet;
}

CpuSet to_give_back(const CpuSet& original, bool any_cpu, const CpuSet& open_now) {
  if (any_cpu) return machine::every_cpu();
  return open_now.empty() || original.intersects(open_now) ? original : original | open_now;
}

}  // namespace millrace::placement
