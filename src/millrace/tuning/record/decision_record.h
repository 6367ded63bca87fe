// What the tuner did and why: a time line of bounded length.
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
  incumbent,          // a challenger took its place
  drift,              // the incumbent's own cost changed
  context,            // the caller announced a change
  profile_forgotten,  // what was remembered turned out wrong
  refused,            // the machine refused to run the candidate, and others with it
  declined,           // a trial, since it would cost more than it can gain in what is left of the stream
};

enum class Reason {
  prior,          // started: the caller's best guess
  remembered,     // started: the profile's incumbent; trial: the profile's costs are being verified
  suggested,      // trial: on the caller's list of first candidates
  improvement,    // trial: the cost model expects it to be better
  verification,   // trial: a close rival, looked at again
  clearly_worse,  // trial ended: dropped in its first frames
  not_better,     // trial ended: it cannot be better by more than the margin
  undecided,      // trial ended: no difference found within its frames
  better,         // trial ended, incumbent: better beyond doubt
  interrupted,    // trial ended: the situation changed in the middle of it
  successor,      // started, incumbent: the one before was refused
};

// Whether a stream that gains only this share of the time that a faster candidate saves is said to wait for
// something else.
[[nodiscard]] constexpr bool waits_mostly(double bound_share) { return bound_share < 0.25; }

[[nodiscard]] std::string_view name_of(EventKind kind);
// A clause that completes a sentence about the candidate.
[[nodiscard]] std::string_view text_of(Reason reason);

// Ratios are cost of `candidate` / cost of `against`; below 1 is better.
struct Event {
  EventKind kind = EventKind::trial;
  double time = 0;  // of the stream, seconds on the observations' clock
  int candidate = -1;
  int against = -1;  // the incumbent at that time; -1: none
  // Those that the candidate ran in this trial; declined: those left of the stream, below 0 where nobody
  // knows.
  std::int64_t frames = 0;
  double cost = 0;   // the trial's typical cost of the candidate: seconds, or the deadline objective's number
  double ratio = 1;  // estimate
  double low = 1;    // its confidence interval
  double high = 1;
  double gain = 0;  // declined: seconds that the trial was expected to gain and to lose
  double loss = 0;
  double bound_share = 1;           // declined: of the time saved, what the stream would gain
  Reason chosen = Reason::prior;    // why it was tried
  Reason verdict = Reason::better;  // how it ended; meaningless unless a trial
};

// Keeps the last `length` events, so that memory is bounded however long the stream. Adding allocates
// nothing.
class DecisionRecord {
 public:
  explicit DecisionRecord(int length);

  void add(const Event& event);
  // Gives all events so far this time: of those added before there was a clock.
  void restamp(double time);
  // Oldest first.
  [[nodiscard]] std::vector<Event> events() const;
  // How many were added before those that are kept.
  [[nodiscard]] std::int64_t left_out() const;
  // All that were ever added of a kind.
  [[nodiscard]] std::int64_t count(EventKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  std::vector<Event> ring_;
  std::size_t next_ = 0;
  bool full_ = false;
  std::array<std::int64_t, 8> counts_{};  // by kind
};

}  // namespace millrace::tuning
