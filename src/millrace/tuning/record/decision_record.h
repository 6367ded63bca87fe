// What the tuner did and why: a timeline of bounded length.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tuning {

enum class EventKind {
  started,            // the first incumbent was chosen
  trial,              // a challenger was raced against the incumbent
  incumbent,          // a challenger became the incumbent
  drift,              // the incumbent's own cost changed
  context,            // the caller announced a change
  profile_forgotten,  // the remembered profile turned out to be wrong
  refused,            // the machine refused to run the candidate and related ones
  declined,           // a trial was not made, because it would cost more than the rest of the stream can gain
};

enum class Reason {
  prior,          // started: the caller's best guess
  remembered,     // started: the profile's incumbent; trial: the profile's costs are being verified
  suggested,      // trial: from the caller's list of first candidates
  improvement,    // trial: the cost model expects an improvement
  verification,   // trial: a close rival is checked again
  clearly_worse,  // trial ended: dropped within its first frames
  not_better,     // trial ended: cannot be better by more than the margin
  undecided,      // trial ended: no difference found within its frames
  better,         // trial ended, incumbent: significantly better
  interrupted,    // trial ended: the situation changed during the trial
  successor,      // started, incumbent: the previous one was refused
};

// Whether a stream mostly waits for something other than the filters: it gains only this share of the time
// that a faster candidate saves.
[[nodiscard]] constexpr bool waits_mostly(double bottleneck_share) { return bottleneck_share < 0.25; }

[[nodiscard]] std::string_view name_of(EventKind kind);
// A clause that completes a sentence about the candidate.
[[nodiscard]] std::string_view text_of(Reason reason);

// Ratios are cost of `candidate` / cost of `against`; below 1 is better.
struct Event {
  EventKind kind = EventKind::trial;
  double time = 0;  // stream time in seconds, on the observations' clock
  int candidate = -1;
  int against = -1;  // the incumbent at that time; -1: no incumbent
  // Frames that the candidate ran in this trial. For declined: frames left in the stream, negative if
  // unknown.
  std::int64_t frames = 0;
  double cost = 0;   // typical for the candidate in the trial: seconds, or the deadline objective's value
  double ratio = 1;  // estimate
  double low = 1;    // confidence interval of the ratio
  double high = 1;
  double gain = 0;  // declined: expected gain and loss of the trial in seconds
  double loss = 0;
  double bottleneck_share = 1;      // declined: the share of saved time that the stream would gain
  Reason chosen = Reason::prior;    // why it was tried
  Reason verdict = Reason::better;  // how it ended; meaningful only for trials
};

// Keeps the last `length` events, so memory is bounded for any stream. Adding does not allocate.
class DecisionRecord {
 public:
  explicit DecisionRecord(int length);

  void add(const Event& event);
  // Sets the time of all events so far, which were added before the clock started.
  void restamp(double time);
  // Oldest first.
  [[nodiscard]] std::vector<Event> events() const;
  // Number of events that have been dropped.
  [[nodiscard]] std::int64_t left_out() const;
  // Number of events of this kind ever added.
  [[nodiscard]] std::int64_t count(EventKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  std::vector<Event> ring_;
  std::size_t next_ = 0;
  bool full_ = false;
  std::array<std::int64_t, 8> counts_{};  // by kind
};

}  // namespace millrace::tuning
