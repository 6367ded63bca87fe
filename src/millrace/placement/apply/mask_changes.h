// Tells who changed a thread's mask: the program, or the kernel because the thread's cpuset or the online
// CPUs changed. Pure.
//
//   const MaskHistory history{.asked = {2}, .had = {2}, .seen = {4, 5},
//                             .open_then = {0, 1, 2, 3}, .open_now = {4, 5}};
//   who_changed(history, KernelMasks::remembers);   // MaskChanger::kernel: CPU 2 is no longer open to it
//
// CPUs are "open" to a thread if they are in its cpuset and online (machine/limits/open_cpus.h). Since
// Linux 6.2 the kernel remembers the mask that was requested. A thread gets the open part of it, or all open
// CPUs if that part is empty; when the CPUs come back, so does the mask. Older kernels gave a thread all open
// CPUs for good after each change of its cpuset. The root group has no cpuset: there, both kinds of kernel
// keep the mask and use its online part.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <string_view>

namespace millrace::placement {

enum class KernelMasks { forgets, remembers };
// Takes a release as uname() reports it: "6.1.0-40-amd64".
[[nodiscard]] KernelMasks kernel_masks_of(std::string_view release);
// Asks the running kernel; not pure.
[[nodiscard]] KernelMasks kernel_masks();

struct MaskHistory {
  machine::CpuSet asked;  // the latest request to the kernel; machine::every_cpu() for a thread that has no
                          // mask of its own
  machine::CpuSet had;    // the mask when its origin was last known, ...
  machine::CpuSet open_then;   // ... and what was open then
  machine::CpuSet seen;        // the mask now, ...
  machine::CpuSet open_now;    // ... and what is open now
  bool open_changed = false;   // other CPUs than then have been open meanwhile, even if not now
  machine::CpuSet whole = {};  // machine::whole_mask(); empty: not read
};
// not_known_yet: CPUs are going offline or coming online at this moment, which the kernel does in steps. Ask
// again soon, with the same history. It is never returned if `whole` is empty.
enum class MaskChanger { nobody, kernel, program, not_known_yet };
[[nodiscard]] MaskChanger who_changed(const MaskHistory& history, KernelMasks kernel);

// Returns what the kernel makes of a requested mask if only `open` is open.
[[nodiscard]] machine::CpuSet confined(const machine::CpuSet& asked, const machine::CpuSet& open);

// True if `seen` can result from a request for `asked`. open: empty if not known.
[[nodiscard]] bool is_made_of(const machine::CpuSet& asked, const machine::CpuSet& seen,
                              const machine::CpuSet& open);

// Returns the mask to request so that a thread gets what it would have without millrace. original: the mask
// that it had; any_cpu: it was all that was open, so the thread had no mask of its own. If nothing of its own
// mask is open, the kernel would refuse the request, so the open CPUs are added.
[[nodiscard]] machine::CpuSet to_give_back(const machine::CpuSet& original, bool any_cpu,
                                           const machine::CpuSet& open_now);

}  // namespace millrace::placement
