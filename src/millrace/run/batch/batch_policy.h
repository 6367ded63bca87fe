// BatchPolicy: decides which jobs of a batch run at the same time, how many, and with how many threads each.
// Pure: it gets measurements and returns decisions; it runs nothing and reads no clock.
#pragma once

#include "millrace/run/video/run_record.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace millrace::run {

inline constexpr int bottlenecks = 4;

// Measurements of one job over some period.
struct BatchSlice {
  int kind = 0;                              // jobs of one kind cost the same per pixel
  Bottleneck bound{};                        // bottleneck of the kind, as far as known
  double frame_pixels = 0;                   // per frame
  double pixels = 0;                         // of the finished frames
  double seconds = 0;                        // length of the period
  double side_by_side = 1;                   // average number of running jobs, itself included
  std::array<double, bottlenecks> beside{};  // the other running jobs, by their bottleneck
};

struct RunningJob {
  Bottleneck bound{};
  double frame_pixels = 0;  // 0: unknown while it opens its input or waits for memory
};

// Jobs of one kind that have not begun.
struct WaitingKind {
  int kind = 0;
  Bottleneck bound{};
  std::int64_t jobs = 0;           // at least 1
  double heaviest = 0;             // estimated pixels of all frames of the largest job
  double all = 0;                  // the same for all jobs
  std::uint64_t memory_bytes = 0;  // per job; 0: unknown
};

// State of the batch.
struct BatchView {
  std::vector<RunningJob> running;
  std::vector<WaitingKind> waiting;
  std::uint64_t memory_left = 0;  // of the budget
  std::optional<double> busy;     // recent share of the CPUs in use, 0 to 1
  double seconds_unchanged = 0;   // since a job last began or ended
  double seconds_left = 0;        // estimated time for the remaining jobs; 0: unknown
};

struct BatchDecision {
  int side_by_side = 1;      // concurrent jobs, if there are enough
  int threads_each = 1;      // maximum number of threads that process frames of one job
  int decoder_threads = 1;   // of a job that begins now
  std::optional<int> begin;  // the kind whose largest job should begin now
  std::string why;           // for people, if `begin` is set or side_by_side has changed
};

// The policy compares relative speeds: pixels per second, times the number of concurrent jobs, divided by
// that value when the kind was first seen. Jobs that share the machine without loss or gain stay at 1. Jobs
// with different bottlenecks exceed 1; jobs that compete for the same caches or memory fall below it.
class BatchPolicy {
 public:
  // threads: number of workers, at least 1. side_by_side: a fixed number of concurrent jobs, if given.
  BatchPolicy(int threads, std::optional<int> side_by_side);

  void observe(const BatchSlice& slice);
  [[nodiscard]] BatchDecision decide(const BatchView& view);

  // Relative speed with this many concurrent jobs; 0: not tried.
  [[nodiscard]] double speed_of(int side_by_side) const;
  // Relative speed of a job bound by `a` next to one bound by `b`.
  [[nodiscard]] double speed_beside(Bottleneck a, Bottleneck b) const;
  // What was learned, for people, one line each.
  [[nodiscard]] std::vector<std::string> explain() const;

 private:
  // A mean in which old values fade.
  struct Mean {
    double value = 0;
    double seconds = 0;
    void add(double sample, double duration);
  };

  [[nodiscard]] int guess(const BatchView& view) const;
  [[nodiscard]] std::string revise(const BatchView& view);
  [[nodiscard]] int nearest_tried(int direction) const;
  [[nodiscard]] const WaitingKind* try_company(const BatchView& view,
                                               const std::function<bool(const WaitingKind&)>& fits) const;
  [[nodiscard]] const WaitingKind* choose(const BatchView& view, std::string& why) const;
  [[nodiscard]] double seconds_of(const WaitingKind& kind, double pixels) const;
  // For jobs of each bottleneck: how well they go with the running ones.
  [[nodiscard]] std::array<double, bottlenecks> companies(const std::vector<RunningJob>& running) const;

  int threads_;
  std::optional<int> fixed_;
  int target_ = 0;              // concurrent jobs; 0: undecided
  int begun_beside_ = 0;        // jobs that began next to others
  bool from_guess_ = true;      // no measurement has changed it yet
  std::map<int, Mean> speeds_;  // by number of concurrent jobs
  std::array<std::array<Mean, bottlenecks>, bottlenecks> beside_;
  // Machine-seconds per pixel when first seen, by kind and frame size.
  std::map<std::pair<int, int>, double> first_;
  // Sum and count of these, per kind and in total.
  struct Costs {
    double sum = 0;
    int sizes = 0;
  };
  std::unordered_map<int, Costs> costs_;
  Costs all_costs_;
};

// The bottleneck for people: "encoding", "filters", "decoding", "nothing in particular".
[[nodiscard]] std::string_view name_of(Bottleneck bound);

}  // namespace millrace::run
