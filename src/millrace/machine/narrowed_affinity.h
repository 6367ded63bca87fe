// NarrowedAffinity: some CPUs taken from the calling thread's mask for a while.
#pragma once

#include "millrace/machine/affinity_mask.h"
#include "millrace/machine/cpu_set.h"

namespace millrace::machine {

// For moments that are too short to allocate memory in: a call is two system calls, about a microsecond (and
// 20 to 80 us when the thread has to move). It narrows a mask only if that is still what it is known to be,
// and gives back only what it narrowed itself: who sets the thread's affinity meanwhile, from within or with
// taskset, is not overruled.
//
// To be used by one thread; it does not restore on destruction.
class NarrowedAffinity {
 public:
  // Knows no mask and does nothing.
  NarrowedAffinity() = default;
  // `whole`: the calling thread's mask, as read back from the kernel.
  explicit NarrowedAffinity(const CpuSet& whole);

  // Narrow the whole mask, of which `cpu` should be a member, to all others, or to it alone. Whether that was
  // done; if not (nothing would be left, nothing would change, somebody else has set the mask, the kernel
  // refuses), the mask is as it was. Not while it is narrowed already.
  bool keep_off(int cpu);
  bool stay_on(int cpu);

  // Gives the whole mask back if it is narrowed.
  void restore();

 private:
  [[nodiscard]] bool in_whole(int cpu) const;
  // Sets narrowed_, if the mask is the whole one.
  bool narrow();
  // Whether the thread's mask is `mask` now.
  [[nodiscard]] bool is_set(const AffinityMask& mask);

  // All of one length, the kernel's.
  AffinityMask whole_;
  AffinityMask narrowed_;
  AffinityMask now_;
  int members_ = 0;  // of whole_
  bool is_narrowed_ = false;
};

}  // namespace millrace::machine
