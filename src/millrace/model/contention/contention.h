// How fast threads run that share units of a machine, by where they are.
//
//   const auto speeds = speeds_of(machine, threads, {0, 1, 2, 3});  // thread i on PU i
//
// The time of thread i beside the others, over its time alone, is the product over the levels of the machine
// of
//
//   1 + sum over the threads j in the same group of  present_j * sum over u, v of  w_iu (M_uv - 1) w_jv
//
// and then of 1 + m (D - 1) for each node that its memory lies on, and 1 + m o (H - 1) for the data that it
// has in common with threads in other last-level caches.
//
// w: the demand of a thread, M: the level's contention matrix, present_j: the share of the time that j
// computes on its PU; m: the share of its time that it is in memory, D: how far the node is, o: the share of
// its data that others have too, H: how much longer a cache line takes from one cache to another.
//
// That unlike kinds of work hardly slow each other down while like kinds take 1.4 to 3
// times as long, and that no single rank of threads says this, is measured on SMT siblings of today; with one
// kind of unit it is what the WorkOver paper's placement rests on. A level may also be one whose units have
// room to spare (Growth::speed): there each partner takes the same speed away, 1 - sum of (1 - 1 / M) in
// place of 1 + sum of (M - 1); with that the paper's figure 12 is met within 5 %.
#pragma once

#include "millrace/model/contention/demand.h"
#include "millrace/model/contention/shared_machine.h"

#include <span>
#include <string>
#include <vector>

namespace millrace::model {

struct ContendingThread {
  std::string name;
  Demand demand;
  double busy = 1;  // the share of the time that it would compute, were it alone; above 0, to 1
  // Where its memory lies: a share for each node of the machine, 1 in sum; empty: as near from everywhere.
  std::vector<double> pages = {};
  // Threads of one number >= 0 work on the same data; overlap: the share of a thread's memory that this is.
  int data = -1;
  double overlap = 0;
};

// How many times as long a thread takes beside one that does `other` all the time, less 1.
[[nodiscard]] double disturbance(const ContentionMatrix& contention, const Demand& thread,
                                 const Demand& other);

// The share of its time that a thread is in memory, of whatever level.
[[nodiscard]] double in_memory(const Demand& demand);

// The PU of each thread. Several may be on one: they take turns.
using PuOfThread = std::vector<int>;

// The time of each thread over its time alone on the machine; at least 1. Threads that share a PU by turns
// are slowed down by waiting, and disturb others only while they run. `machine` and `threads` are checked,
// `placement` names a PU of the machine for each thread.
[[nodiscard]] std::vector<double> slowdowns_of(const SharedMachine& machine,
                                               std::span<const ContendingThread> threads,
                                               const PuOfThread& placement);

// What a placement is worth.
struct PlacementWorth {
  std::vector<double> speeds;  // of each thread, of its speed alone
  double mean_speed = 0;       // what the WorkOver paper's figures are of
  double fairness = 0;         // least speed over greatest
  double cache_loss = 0;       // mean time lost to others in caches (L1, L2, LLC), over the time alone
  double log_throughput = 0;   // sum of busy * log(speed): what is maximised
};

[[nodiscard]] PlacementWorth worth_of(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                      const PuOfThread& placement);

// The same for many placements of the same threads: what they do to each other is worked out once.
// Refers to what it was made of; used by one thread.
class PlacementScore {
 public:
  PlacementScore(const SharedMachine& machine, std::span<const ContendingThread> threads);

  // log_throughput. -1 as the PU of a thread: it is not placed yet, and counts for nothing.
  [[nodiscard]] double operator()(const PuOfThread& placement);
  [[nodiscard]] PlacementWorth worth(const PuOfThread& placement);
  // The time of each thread over its time alone; 1 where it is not placed. Valid until the next call.
  [[nodiscard]] std::span<const double> slowdowns(const PuOfThread& placement);

 private:
  void gather(const PuOfThread& placement);
  void slow_down_on(std::size_t level);
  void slow_down_by_distance(const PuOfThread& placement);
  [[nodiscard]] double cache_loss() const;
  [[nodiscard]] std::span<const int> threads_on(int pu) const;

  const SharedMachine& machine_;
  std::span<const ContendingThread> threads_;
  // Of each level: [thread * number of threads + the other], and of that what is of caches.
  std::vector<std::vector<double>> disturbances_;
  std::vector<std::vector<double>> in_caches_;
  std::vector<int> node_of_;                // of each PU; -1: of none
  std::vector<int> cache_of_;               // of each PU
  std::vector<std::vector<int>> together_;  // threads by common data
  // Of the placement looked at: threads by PU, and where those of each PU begin; how many times as long they
  // take as they wait for their turns, how much of the time they are there; and the result.
  std::vector<int> by_pu_;
  std::vector<int> first_;
  std::vector<double> asked_;
  std::vector<double> present_;
  std::vector<double> slowdowns_;
};

// Usage error where a demand is impossible, `busy` or `overlap` out of range, pages are not 1 in sum, or
// there is no thread, or more than 4096.
[[nodiscard]] Status check(std::span<const ContendingThread> threads);

}  // namespace millrace::model
