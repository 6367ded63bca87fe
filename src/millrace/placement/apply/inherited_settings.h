// InheritedSettings: the state that new threads and processes inherit from their maker, and what that state
// was before millrace changed it.
#pragma once

#include "millrace/placement/apply/journal.h"

#include <map>
#include <optional>
#include <string>

namespace millrace::placement {

// The state of a thread that makes another, when it reports the birth.
struct InheritedSettings {
  Original original;  // its state before anything was changed
  Original last;      // the state it was given, which its child starts with
  bool left_alone = false;
};

// Compares everything that millrace may change; nice values are not compared.
[[nodiscard]] inline bool same_but_nice(const Original& a, const Original& b) {
  return a.mask == b.mask && a.scheduling_class == b.scheduling_class && a.slice_ns == b.slice_ns;
}

// Every mask, and every class with its slice, that threads were given, each with the state that the last such
// thread had before. It is used if a thread's maker is unknown, or was changed during the birth: it tells
// what the state was before the change. There are as many entries as the policies have distinct plans, not as
// many as threads.
class GivenStates {
 public:
  void add(const Original& given, const Original& original);
  // The set of open CPUs has changed. The kernel then derives other masks from the given ones, and threads
  // without a mask of their own get another one too.
  void confine(const machine::CpuSet& open_then, const machine::CpuSet& open_now);
  // Returns `state` with everything that was given to any thread replaced by what was there before.
  [[nodiscard]] Original before(Original state) const;

 private:
  std::map<std::string, machine::CpuSet> masks_;
  std::map<Attributes, Original> attributes_;
};

// The state of a new thread before anything was changed, in itself or in the ancestor it inherited from.
struct Origin {
  Original original;
  bool alone = false;  // it has a setting that it can only have chosen itself
};

// The kernel copies the maker's state when a birth begins, and shows the thread when it is complete. The
// maker's state by then may differ from what the thread inherited. now: the thread's state; family: the
// original state of its process, null for its first thread; inherited: the maker's, if known.
[[nodiscard]] Origin origin_of(const Original& now, const Original* family,
                               const std::optional<InheritedSettings>& inherited, const GivenStates& given);

}  // namespace millrace::placement
