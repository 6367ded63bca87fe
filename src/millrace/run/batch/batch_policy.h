// BatchPolicy: which jobs of a batch run side by side, how many, and with how many threads each. Pure: it is
// told what was measured, and asked what to do next; it runs nothing and reads no clock.
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

// How a job went for a while.
struct BatchSlice {
  int kind = 0;                              // jobs of one kind cost alike for each pixel
  Bottleneck bound{};                        // of the kind, as far as it was known
  double frame_pixels = 0;                   // of one frame
  double pixels = 0;                         // of the frames that were done
  double seconds = 0;                        // that it took
  double side_by_side = 1;                   // jobs that ran meanwhile, itself included, on average
  std::array<double, bottlenecks> beside{};  // the others among them, by what binds them
};

struct RunningJob {
  Bottleneck bound{};
  double frame_pixels = 0;  // 0: not known yet, as it opens its input, or waits for memory
};

// Jobs of one kind that have not begun.
struct WaitingKind {
  int kind = 0;
  Bottleneck bound{};
  std::int64_t jobs = 0;           // at least 1
  double heaviest = 0;             // pixels of all frames of the largest of them, guessed
  double all = 0;                  // of all of them
  std::uint64_t memory_bytes = 0;  // that one takes; 0: not known yet
};

// How things stand.
struct BatchView {
  std::vector<RunningJob> running;
  std::vector<WaitingKind> waiting;
  std::uint64_t memory_left = 0;  // of the budget
  std::optional<double> busy;     // share of the CPUs that was in use lately, 0 to 1
  double seconds_unchanged = 0;   // since a job was last begun or ended
  double seconds_left = 0;        // that the rest will take, guessed; 0: nobody knows
};

struct BatchDecision {
  int side_by_side = 1;      // jobs, where there are so many
  int threads_each = 1;      // that process frames of one job, at most
  int decoder_threads = 1;   // of a job that is begun now
  std::optional<int> begin;  // a kind: its largest job is to be begun now
  std::string why;           // for people, where `begin` or a changed side_by_side says something
};

// How well jobs go together is measured by their relative speed: pixels a second, times the jobs side by
// side, over what that was when their kind was first seen. Jobs that share the machine without loss or gain
// keep 1; where what binds them differs they gain, and where they want the same caches or memory they lose.
class BatchPolicy {
 public:
  // threads: workers, at least 1. side_by_side: fixed where given.
  BatchPolicy(int threads, std::optional<int> side_by_side);

  void observe(const BatchSlice& slice);
  [[nodiscard]] BatchDecision decide(const BatchView& view);

  // What jobs reached side by side, relative to others; 0: not tried.
  [[nodiscard]] double speed_of(int side_by_side) const;
  // What a job bound by `a` reached beside one bound by `b`, relative to others.
  [[nodiscard]] double speed_beside(Bottleneck a, Bottleneck b) const;
  // What was learnt, a line each, for people.
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
  // Of jobs of each bound, beside what runs: how well they go together.
  [[nodiscard]] std::array<double, bottlenecks> companies(const std::vector<RunningJob>& running) const;

  int threads_;
  std::optional<int> fixed_;
  int target_ = 0;              // jobs side by side; 0: not decided yet
  int begun_beside_ = 0;        // jobs that were begun beside others
  bool from_guess_ = true;      // nothing measured has changed it
  std::map<int, Mean> speeds_;  // by jobs side by side
  std::array<std::array<Mean, bottlenecks>, bottlenecks> beside_;
  // Machine-seconds a pixel when it was first seen, by kind and size of frames.
  std::map<std::pair<int, int>, double> first_;
  // Of these the sums, and how many: of each kind, and of all.
  struct Costs {
    double sum = 0;
    int sizes = 0;
  };
  std::unordered_map<int, Costs> costs_;
  Costs all_costs_;
};

// What kind of word a bottleneck is, for people: "encoding", "filters", "decoding", "nothing in particular".
[[nodiscard]] std::string_view name_of(Bottleneck bound);

}  // namespace millrace::run
