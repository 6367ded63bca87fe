// Heritage: what new threads and processes take over from those that made them, and what that was before it
// was changed.
#pragma once

#include "millrace/placement/apply/journal.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace millrace::placement {

// Of a thread that makes another, at the moment when it does.
struct Heritage {
  Original original;  // what it had before anything was changed
  Original last;      // what it had been given, and its child begins with
  bool left_alone = false;
};

// Whatever may be changed is the same; nice values are not.
[[nodiscard]] inline bool same_but_nice(const Original& a, const Original& b) {
  return a.mask == b.mask && a.scheduling_class == b.scheduling_class && a.slice_ns == b.slice_ns;
}

// Every state that threads were given, with what the last such thread had had before. Of a thread whose maker
// is not known, or gone, its state says whether it was inherited from one that was changed. There are as many
// as the policies have plans, not as many as there are threads.
class GivenStates {
 public:
  void add(const Original& given, const Original& original) { originals_[key_of(given)] = original; }
  // Nothing for a state that nobody was given.
  [[nodiscard]] std::optional<Original> original_of(const Original& state) const {
    const auto found = originals_.find(key_of(state));
    return found == originals_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  using Key = std::tuple<std::string, machine::SchedulingClass, std::int64_t>;
  [[nodiscard]] static Key key_of(const Original& state) {
    return {state.mask.to_string(), state.scheduling_class, state.slice_ns};
  }
  std::map<Key, Original> originals_;
};

}  // namespace millrace::placement
