// Heritage: what new threads and processes take over from those that made them, and what that was before it
// was changed.
#pragma once

#include "millrace/placement/apply/journal.h"

#include <map>
#include <optional>
#include <string>

namespace millrace::placement {

// Of a thread that makes another, at the moment when it tells of that.
struct Heritage {
  Original original;  // what it had before anything was changed
  Original last;      // what it has been given, and its child begins with
  bool left_alone = false;
};

// Whatever may be changed is the same; nice values are not.
[[nodiscard]] inline bool same_but_nice(const Original& a, const Original& b) {
  return a.mask == b.mask && a.scheduling_class == b.scheduling_class && a.slice_ns == b.slice_ns;
}

// Every mask, and every class with its slice, that threads were given, with what the last such thread had had
// before. Of a thread whose maker is not known, or was changed while it made it, this says what it inherited
// from one that was changed. There are as many as the policies have plans, not as many as there are threads.
class GivenStates {
 public:
  void add(const Original& given, const Original& original);
  // What is open has changed: the kernel makes other masks of those that were given, and of what threads had
  // that have no mask of their own.
  void confine(const machine::CpuSet& open_then, const machine::CpuSet& open_now);
  // `state` with what was given, to whomever, replaced by what was there before.
  [[nodiscard]] Original before(Original state) const;

 private:
  std::map<std::string, machine::CpuSet> masks_;
  std::map<Attributes, Original> attributes_;
};

// What a new thread had before anything was changed, itself or in whom it inherited it from.
struct Origin {
  Original original;
  bool alone = false;  // it has something that it can only have chosen for itself
};

// The kernel copies what the maker has as it begins to make a thread, and shows the thread when it is made:
// what the maker has by then need not be what it inherited. now: what it has; family: what its process has by
// itself, null for the first thread of a process; heritage: of its maker, where that is known.
[[nodiscard]] Origin origin_of(const Original& now, const Original* family,
                               const std::optional<Heritage>& heritage, const GivenStates& given);

}  // namespace millrace::placement
