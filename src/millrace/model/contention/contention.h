// Predicts the speed of threads that share units of a machine from their placement.
//
//   const auto speeds = worth_of(machine, threads, {0, 1, 2, 3}).speeds;  // thread i on PU i
//
// The slowdown of thread i (its time with the others over its time alone) is the product over the levels of
// the machine of
//
//   1 + sum over the threads j in the same group of  present_j * sum over u, v of  w_iu (M_uv - 1) w_jv
//
// then of 1 + m (D - 1) for each node that holds its memory, and 1 + m o (H - 1) for the data that it shares
// with threads in other last-level caches.
//
// w: the demand of a thread, M: the level's contention matrix, present_j: the share of the time that j
// computes on its PU; m: the share of its time that it spends in memory, D: the distance of the node, o: the
// share of its data that is shared, H: how much longer a cache line takes between caches.
//
// Measurements on current SMT siblings show that unlike kinds of work hardly slow each other down, while like
// kinds take 1.4 to 3 times as long. No single ranking of threads can express this. With a single kind of
// unit, the model reduces to the basis of the WorkOver paper's placement. Units of a level can also have
// capacity to spare (Growth::speed). Then each partner takes away the same speed: 1 - sum of (1 - 1 / M)
// replaces 1 + sum of (M - 1). With that, the paper's figure 12 is matched within 5 %.
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
  double busy = 1;  // the share of time that it would compute if it were alone; above 0, up to 1
  // Location of its memory: a share for each node of the machine, with sum 1. Empty: equally near everywhere.
  std::vector<double> pages = {};
  // Threads with the same number >= 0 share data. overlap: the share of a thread's memory that this is.
  int data = -1;
  double overlap = 0;
};

// Slowdown minus 1 of a thread next to one that does `other` all the time.
[[nodiscard]] double disturbance(const ContentionMatrix& contention, const Demand& thread,
                                 const Demand& other);

// The share of its time that a thread spends in memory of any level.
[[nodiscard]] double in_memory(const Demand& demand);

// The PU of each thread. Several threads may share a PU; they take turns.
using PuOfThread = std::vector<int>;

// The slowdown of each thread relative to running alone on the machine; at least 1. Threads that share a PU
// are slowed down by waiting for their turns, and disturb others only while they run. `machine` and `threads`
// must be checked. `placement` names a PU of the machine for each thread.
[[nodiscard]] std::vector<double> slowdowns_of(const SharedMachine& machine,
                                               std::span<const ContendingThread> threads,
                                               const PuOfThread& placement);

// The quality of a placement.
struct PlacementWorth {
  std::vector<double> speeds;  // of each thread, relative to its speed alone
  double mean_speed = 0;       // the measure in the WorkOver paper's figures
  double fairness = 0;         // least speed over greatest
  double cache_loss = 0;       // mean time lost to others in caches (L1, L2, LLC), over the time alone
  double log_throughput = 0;   // sum of busy * log(speed): the objective
};

[[nodiscard]] PlacementWorth worth_of(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                      const PuOfThread& placement);

// Evaluates many placements of the same threads; their mutual effects are computed once. Refers to its
// arguments. Used by one thread.
class PlacementScore {
 public:
  PlacementScore(const SharedMachine& machine, std::span<const ContendingThread> threads);

  // log_throughput. A thread on PU -1 is not placed yet and does not count.
  [[nodiscard]] double operator()(const PuOfThread& placement);
  [[nodiscard]] PlacementWorth worth(const PuOfThread& placement);
  // The slowdown of each thread; 1 if it is not placed. Valid until the next call.
  [[nodiscard]] std::span<const double> slowdowns(const PuOfThread& placement);

 private:
  void gather(const PuOfThread& placement);
  void slow_down_on(std::size_t level);
  void slow_down_by_distance(const PuOfThread& placement);
  [[nodiscard]] double cache_loss() const;
  [[nodiscard]] std::span<const int> threads_on(int pu) const;

  const SharedMachine& machine_;
  std::span<const ContendingThread> threads_;
  // By level: [thread * number of threads + other thread], and the part of it that is due to caches.
  std::vector<std::vector<double>> disturbances_;
  std::vector<std::vector<double>> in_caches_;
  std::vector<int> node_of_;                // by PU; -1: none
  std::vector<int> cache_of_;               // by PU
  std::vector<std::vector<int>> together_;  // threads by common data
  // For the current placement: threads by PU, the first index of each PU, the slowdown by waiting for turns,
  // the share of time that each thread is running, and the result.
  std::vector<int> by_pu_;
  std::vector<int> first_;
  std::vector<double> asked_;
  std::vector<double> present_;
  std::vector<double> slowdowns_;
};

// Returns a usage error if a demand is invalid, `busy` or `overlap` is out of range, pages do not sum to 1,
// or there are no threads or more than 4096.
[[nodiscard]] Status check(std::span<const ContendingThread> threads);

}  // namespace millrace::model
