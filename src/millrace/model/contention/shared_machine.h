// What the PUs of a machine share, and what it costs to share it.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/contention/demand.h"

#include <string>
#include <vector>

namespace millrace::model {

// slowdown[u][v]: the time that work on unit u takes beside one thread that works on v all the time, over its
// time alone. 1: the two do not disturb each other. At least 1: what measures less (an idle sibling's share
// lent to others) is to be divided by the least of its row first.
class ContentionMatrix {
 public:
  ContentionMatrix();
  // Usage error unless 1 to 1000.
  [[nodiscard]] Status set(SharedUnit of, SharedUnit beside, double slowdown);
  [[nodiscard]] double of(SharedUnit unit, SharedUnit beside) const { return slowdowns_[unit][beside]; }
  [[nodiscard]] bool operator==(const ContentionMatrix&) const = default;

 private:
  PerUnit<PerUnit<double>> slowdowns_;
};

// What several partners on one level cost.
enum class Growth : std::uint8_t {
  time,   // each takes the same time more: units that one thread can saturate
  speed,  // each takes the same speed away: units with room to spare; never slower than taking turns
};

// Groups of PUs that share something: the PUs of a core, a module, a last-level cache. PUs of no group share
// nothing on this level.
struct SharingLevel {
  std::string name;
  std::vector<std::vector<int>> groups;
  ContentionMatrix contention;
  Growth growth = Growth::time;
};

// PUs 0 to pus - 1 in groups of `each` neighbours, the last one smaller where they do not come out even. each
// >= 1.
[[nodiscard]] std::vector<std::vector<int>> groups_of_neighbours(int pus, int each);

// A value. PUs are numbered 0 to pus - 1, whatever the kernel calls them.
struct SharedMachine {
  int pus = 0;
  std::vector<SharingLevel> levels;  // narrowest first
  // NUMA nodes; none: memory is as near from everywhere. remote_memory: the time of memory of another node,
  // over that of one's own.
  std::vector<std::vector<int>> nodes = {};
  double remote_memory = 1;
  // Last-level caches; none: there is one. far_handover: the time that a cache line takes from one to
  // another, over that within one.
  std::vector<std::vector<int>> caches = {};
  double far_handover = 1;
};

// Usage error where there is no PU, more than 1024, a group names a PU that is not there, two groups of one
// kind share a PU, or a ratio is not 1 to 1000.
[[nodiscard]] Status check(const SharedMachine& machine);

}  // namespace millrace::model
