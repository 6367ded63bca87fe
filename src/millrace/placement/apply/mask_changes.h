// Who changed a thread's mask: the kernel, because its cpuset or the CPUs online have changed, or the
// program. Pure.
//
//   const MaskHistory history{.asked = {2}, .had = {2}, .seen = {4, 5}, .open_then = {0, 1, 2, 3}, .open_now
//   = {4, 5}}; who_changed(history, KernelMasks::remembers);   // MaskChanger::kernel: CPU 2 is not open to
//   it any more
//
// "Open" to a thread are the CPUs of its cpuset that are online (machine/limits/open_cpus.h). Since Linux 6.2
// the kernel remembers the mask that was asked for: a thread has what is open of it, or, where nothing of it
// is, all that is open; once the CPUs come back, so does the mask. Before, a thread had all that was open
// after each change of its cpuset, for good. In the root group, which has no cpuset, both leave the mask and
// use what is online of it.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <string_view>

namespace millrace::placement {

enum class KernelMasks { forgets, remembers };
// Of a release as uname() tells it: "6.1.0-40-amd64".
[[nodiscard]] KernelMasks kernel_masks_of(std::string_view release);
// Of this one; not pure.
[[nodiscard]] KernelMasks kernel_masks();

struct MaskHistory {
  machine::CpuSet
      asked;            // of the kernel, last; machine::every_cpu() for a thread that has no mask of its own
  machine::CpuSet had;  // as it was read when it was last known who made it so, ...
  machine::CpuSet open_then;  // ... and what was open then
  machine::CpuSet seen;       // as it is now, ...
  machine::CpuSet open_now;   // ... and what is open now
};
enum class MaskChanger { nobody, kernel, program };
[[nodiscard]] MaskChanger who_changed(const MaskHistory& history, KernelMasks kernel);

// What the kernel makes of a mask for a thread to which only `open` is open.
[[nodiscard]] machine::CpuSet confined(const machine::CpuSet& asked, const machine::CpuSet& open);

// Whether a thread that has `seen` may have it because `asked` was asked for. open: empty: not known.
[[nodiscard]] bool is_made_of(const machine::CpuSet& asked, const machine::CpuSet& seen,
                              const machine::CpuSet& open);

// What to ask for, for a thread to have what it would have had without millrace. original: the mask that it
// had; any_cpu: which was all that was open to it, so it had none of its own. Where nothing of its own mask
// is open now, the kernel would refuse it: it is widened by what is open.
[[nodiscard]] machine::CpuSet to_give_back(const machine::CpuSet& original, bool any_cpu,
                                           const machine::CpuSet& open_now);

}  // namespace millrace::placement
