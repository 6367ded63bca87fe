#include "millrace/opencv/thread_choice.h"

#include <algorithm>
#include <cstddef>

namespace millrace::opencv {

double ThreadChoice::Candidate::median() const {
  std::array<double, window> sorted = times;
  const auto known = static_cast<std::ptrdiff_t>(std::min(count, window));
  std::nth_element(sorted.begin(), sorted.begin() + known / 2, sorted.begin() + known);
  return sorted[static_cast<std::size_t>(known / 2)];
}

ThreadChoice::ThreadChoice(int most) {
  for (int threads = most; count_ < most_candidates;
       threads = threads == most && (most & (most - 1)) != 0
                     ? 1 << (31 - __builtin_clz(static_cast<unsigned>(most)))
                     : threads / 2) {
    if (threads < 1) break;
    candidates_[static_cast<std::size_t>(count_++)].threads = threads;
  }
  begin_trials();
}

void ThreadChoice::begin_trials() {
  for (Candidate& candidate : candidates_) {
    candidate.left = trials;
    candidate.count = 0;
  }
  reference_ = 0;
  pause_ = first_pause;
  used_ = 0;
  best_ = 0;
  current_ = 0;
}

void ThreadChoice::took(double seconds) {
  if (count_ == 1) return;
  if (cold_) {
    cold_ = false;
    return;
  }
  Candidate& measured = candidates_[static_cast<std::size_t>(current_)];
  measured.add(seconds);
  if (measured.left > 0) --measured.left;
  choose();
}

void ThreadChoice::choose() {
  const auto at = [this](int i) -> Candidate& { return candidates_[static_cast<std::size_t>(i)]; };
  const int measured = current_;
  int fastest = measured;
  for (int i = 0; i < count_; ++i)
    if (at(i).count > 0 && at(i).median() < at(fastest).median()) fastest = i;
  // Beyond hope: what was slow, and what lies beyond it.
  for (int i = 0; i < count_; ++i) {
    if (at(i).count == 0 || at(i).median() <= hopeless * at(fastest).median()) continue;
    at(i).left = 0;
    for (int beyond = i; beyond >= 0 && beyond < count_; beyond += i < fastest ? -1 : 1)
      at(beyond).left = 0;
  }
  if (measured != best_ && at(measured).left == 0 && at(measured).median() < better * at(best_).median()) {
    best_ = measured;
    pause_ = first_pause;
  }
  // In turns, so that what else goes on meets all of them.
  for (int step = 1; step <= count_; ++step) {
    const int candidate = (measured + step) % count_;
    if (at(candidate).left > 0) {
      current_ = candidate;
      return;
    }
  }
  current_ = best_;
  if (reference_ == 0 || measured != best_) {
    reference_ = at(best_).median();
    used_ = 0;
    return;
  }
  ++used_;
  if (at(best_).count >= window && used_ >= window) {
    const double now = at(best_).median();
    if (now > changed * reference_ || now * changed < reference_) {
      begin_trials();
      return;
    }
  }
  if (used_ < pause_) return;
  pause_ = std::min(2 * pause_, longest_pause);
  used_ = 0;
  // The next more and the next fewer: from there it goes on where they are better.
  for (const int i : {best_ - 1, best_ + 1}) {
    if (i < 0 || i >= count_) continue;
    at(i).left = trials;
    at(i).count = 0;  // what it took long ago counts no more
    current_ = i;
  }
}

}  // namespace millrace::opencv
