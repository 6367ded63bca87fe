// SharedMachine: the units that PUs share, and the cost of sharing them.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/contention/demand.h"

#include <string>
#include <vector>

namespace millrace::model {

// slowdown[u][v]: the time of work on unit u next to one thread that constantly works on v, over its time
// alone. 1: they do not disturb each other. At least 1. Divide smaller measured values (when an idle sibling
// lends its share) by the minimum of their row first.
class ContentionMatrix {
 public:
  ContentionMatrix();
  // Returns a usage error unless it is 1 to 1000.
  [[nodiscard]] Status set(SharedUnit of, SharedUnit beside, double slowdown);
  [[nodiscard]] double of(SharedUnit unit, SharedUnit beside) const { return slowdowns_[unit][beside]; }
  [[nodiscard]] bool operator==(const ContentionMatrix&) const = default;

 private:
  PerUnit<PerUnit<double>> slowdowns_;
};

// The combined cost of several partners on one level.
enum class Growth : std::uint8_t {
  time,   // each adds the same time: units that one thread can saturate
  speed,  // each takes the same speed away: units with capacity to spare; never slower than taking turns
};

// Groups of PUs that share something: the PUs of a core, a module, or a last-level cache. PUs outside all
// groups share nothing on this level.
struct SharingLevel {
  std::string name;
  std::vector<std::vector<int>> groups;
  ContentionMatrix contention;
  Growth growth = Growth::time;
};

// PUs 0 to pus - 1 in groups of `each` neighbours. The last group may be smaller. each >= 1.
[[nodiscard]] std::vector<std::vector<int>> groups_of_neighbours(int pus, int each);

// A value type. PUs are numbered 0 to pus - 1, independent of the kernel's numbers.
struct SharedMachine {
  int pus = 0;
  std::vector<SharingLevel> levels;  // narrowest first
  // NUMA nodes. Empty: memory is equally near everywhere. remote_memory: access time to another node's
  // memory, relative to local memory.
  std::vector<std::vector<int>> nodes = {};
  double remote_memory = 1;
  // Last-level caches. Empty: there is one. far_handover: transfer time of a cache line between caches,
  // relative to a transfer within one.
  std::vector<std::vector<int>> caches = {};
  double far_handover = 1;
};

// Returns a usage error if there are no PUs or more than 1024, a group names a missing PU, two groups of one
// kind share a PU, or a ratio is not 1 to 1000.
[[nodiscard]] Status check(const SharedMachine& machine);

}  // namespace millrace::model
