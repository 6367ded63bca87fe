#include "millrace/opencv/thread_choice.h"

#include <algorithm>
#include <cmath>

namespace millrace::opencv {

void ThreadChoice::Sample::add(double seconds) {
  least = count == 0 ? seconds : std::min(least, seconds);
  most = count == 0 ? seconds : std::max(most, seconds);
  ++count;
  const double before = seconds - mean;
  mean += before / count;
  squares += before * (seconds - mean);
}

void ThreadChoice::Sample::fade() {
  squares *= (count / 2) / std::max(1.0, static_cast<double>(count));
  count /= 2;
  most = mean;
}

ThreadChoice::ThreadChoice(int most) {
  for (int threads = most; count_ < most_candidates;
       threads = threads == most && (most & (most - 1)) != 0
                     ? 1 << (31 - __builtin_clz(static_cast<unsigned>(most)))
                     : threads / 2) {
    if (threads < 1) break;
    candidates_[at(count_++)].threads = threads;
  }
  if (count_ > 1) begin_race(0, count_ - 1);
}

void ThreadChoice::begin_race(int first, int last) {
  for (int i = first; i <= last; ++i) {
    candidates_[at(i)].racing = true;
    candidates_[at(i)].sample.fade();
  }
  rounds_ = 0;
  raced_ = 0;
  racing_ = true;
  current_ = leader_ = first;
}

void ThreadChoice::took(double seconds) {
  if (count_ == 1) return;
  if (cold_) {
    cold_ = false;
    return;
  }
  if (!racing_) {
    used(seconds);
    return;
  }
  candidates_[at(current_)].sample.add(seconds);
  raced_ += seconds;
  if (!chosen_) leave_out_beyond(current_);
  // In turns, so that disturbances affect all candidates.
  do {
    current_ = (current_ + 1) % count_;
    if (current_ == 0) judge();
  } while (racing_ && !(candidates_[at(current_)].racing && has_turn(current_)));
}

bool ThreadChoice::has_turn(int candidate) const {
  return candidate == leader_ || rounds_ < fewest_rounds || rounds_ % seldom == 0;
}

void ThreadChoice::leave_out_beyond(int candidate) {
  if (candidate < 2 || candidates_[at(candidate)].sample.count != 1) return;
  const auto slower = [&](int i) {
    return candidates_[at(i)].sample.mean > hopeless * candidates_[at(i - 1)].sample.mean;
  };
  if (!slower(candidate) || !slower(candidate - 1)) return;
  for (int i = candidate; i < count_; ++i)
    candidates_[at(i)].racing = false;
}

void ThreadChoice::judge() {
  ++rounds_;
  int fastest = -1;
  leader_ = -1;
  for (int i = 0; i < count_; ++i) {
    const Sample& sample = candidates_[at(i)].sample;
    if (!candidates_[at(i)].racing) continue;
    if (fastest < 0 || sample.mean < candidates_[at(fastest)].sample.mean) fastest = i;
    if (leader_ < 0 || sample.usual() < candidates_[at(leader_)].sample.usual()) leader_ = i;
  }
  const Sample& of_fastest = candidates_[at(fastest)].sample;
  // If the best candidate has been in use, that gives a better estimate of its slowest loop.
  const bool known = reference_.count > 0;
  const double slowest = known ? std::max(reference_.most, of_fastest.most) : of_fastest.most;
  int left = 0;
  for (int i = 0; i < count_; ++i) {
    Candidate& other = candidates_[at(i)];
    if (i == fastest || !other.racing) continue;
    // Never give up the best candidate because of a short race.
    if (raced_ < least_seconds && (!chosen_ || i == best_)) continue;
    const Sample& sample = other.sample;
    if (sample.count >= (known ? 1 : 2) && sample.least > hopeless * slowest) {
      // Together with all candidates beyond it.
      for (int beyond = i; beyond >= 0 && beyond < count_; beyond += i < fastest ? -1 : 1)
        candidates_[at(beyond)].racing = false;
    } else if (rounds_ >= fewest_rounds &&
               sample.mean - of_fastest.mean >
                   clearly * std::sqrt(sample.squared_error() + of_fastest.squared_error())) {
      other.racing = false;
    }
  }
  for (int i = 0; i < count_; ++i)
    left += candidates_[at(i)].racing ? 1 : 0;
  if (left == 1 || (rounds_ >= most_rounds && raced_ >= least_seconds)) end_race(fastest);
}

void ThreadChoice::end_race(int winner) {
  for (int i = 0; i < count_; ++i)
    candidates_[at(i)].racing = false;
  racing_ = false;
  const bool replaced = !chosen_ || (winner != best_ && candidates_[at(winner)].sample.mean <
                                                            better * candidates_[at(best_)].sample.mean);
  if (replaced) {
    best_ = winner;
    pause_ = first_pause;
  }
  chosen_ = true;
  current_ = best_;
  reference_ = candidates_[at(best_)].sample;
  recent_ = {};
  used_ = 0;
}

void ThreadChoice::used(double seconds) {
  last_[used_++ % at_once] = seconds;
  (reference_.count < in_the_mean ? reference_ : recent_).add(seconds);
  if (other_load()) {
    chosen_ = false;
    reference_ = {};
    for (Candidate& candidate : candidates_)
      candidate.sample = {};
    begin_race(0, count_ - 1);
  } else if (used_ >= pause_) {
    pause_ = std::min(2 * pause_, longest_pause);
    begin_race(std::max(best_ - 1, 0), std::min(best_ + 1, count_ - 1));
  }
}

bool ThreadChoice::other_load() {
  if (used_ >= at_once) {
    const auto [least, most] = std::ranges::minmax(last_);
    if (least > changed * reference_.most || most * changed < reference_.least) return true;
  }
  if (recent_.count < in_the_mean) return false;
  const Sample now = recent_;
  recent_ = {};
  if (std::abs(now.mean - reference_.mean) <
      surely * std::sqrt(now.squared_error() + reference_.squared_error()))
    return false;
  return now.mean > changed * reference_.mean || now.mean * changed < reference_.mean;
}

}  // namespace millrace::opencv
