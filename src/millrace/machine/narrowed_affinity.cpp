#include "millrace/machine/narrowed_affinity.h"

#include <algorithm>
#include <tuple>

namespace millrace::machine {

NarrowedAffinity::NarrowedAffinity(const CpuSet& whole)
    : whole_(to_mask(whole, mask_of_thread(0).size())), narrowed_(whole_.size()), now_(whole_.size()),
      members_(whole.count()) {}

bool NarrowedAffinity::keep_off(int cpu) {
  if (!in_whole(cpu)) return false;
  std::ranges::copy(whole_, narrowed_.begin());
  narrowed_[word_of(cpu)] &= ~bit_of(cpu);
  return narrow();
}

bool NarrowedAffinity::stay_on(int cpu) {
  if (!in_whole(cpu)) return false;
  std::ranges::fill(narrowed_, MaskWord{0});
  narrowed_[word_of(cpu)] = bit_of(cpu);
  return narrow();
}

void NarrowedAffinity::restore() {
  if (!is_narrowed_) return;
  is_narrowed_ = false;
  // A cpuset that shrank meanwhile may refuse; then the thread keeps what the kernel left it.
  if (is_set(narrowed_)) std::ignore = write_mask(0, whole_);
}

bool NarrowedAffinity::in_whole(int cpu) const {
  return cpu >= 0 && word_of(cpu) < whole_.size() && (whole_[word_of(cpu)] & bit_of(cpu)) != 0;
}

bool NarrowedAffinity::narrow() {
  is_narrowed_ = members_ > 1 && is_set(whole_) && write_mask(0, narrowed_);
  return is_narrowed_;
}

bool NarrowedAffinity::is_set(const AffinityMask& mask) { return read_mask(0, now_) && now_ == mask; }

}  // namespace millrace::machine
