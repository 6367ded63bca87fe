// ThreadChoice: chooses the number of threads for the loops of one call site from measured times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::opencv {

// Pure: times in, thread counts out. Candidates are 1, 2, 4 ... and `most`. They race: all run in turns until
// the others are clearly slower by their means. The mean counts because it includes the occasional delay of a
// loop. Noisy times make races longer. Then the winner is used. It races again with its neighbours at growing
// intervals. It races with all candidates if its times change for good, because of another size or another
// process. Not synchronised.
class ThreadChoice {
 public:
  // most >= 1.
  explicit ThreadChoice(int most);

  // Threads for the next loop.
  [[nodiscard]] int next() const { return candidates_[at(current_)].threads; }
  // Time of that loop, run with next() threads.
  void took(double seconds);

  // The best number so far.
  [[nodiscard]] int best() const { return candidates_[at(best_)].threads; }

 private:
  static constexpr int most_candidates = 8;
  static constexpr int fewest_rounds = 3;  // of a race, unless a candidate is hopeless
  // Minimum length of a race. Other processes hold a CPU for a time slice, or poll on it for a moment. In a
  // shorter race that could affect one candidate only.
  static constexpr double least_seconds = 0.005;
  static constexpr int most_rounds = 96;
  static constexpr int seldom = 7;  // rounds between two turns of a candidate that is behind. Prime, so that
                                    // disturbances in every fourth or eighth loop affect all candidates.
  static constexpr double clearly = 2.5;   // standard errors
  static constexpr double surely = 4;      // the same, if the consequence is a race of all candidates
  static constexpr double hopeless = 1.3;  // relative to the slowest loop of the best candidate
  static constexpr double better = 0.97;   // relative time needed to replace the best candidate
  static constexpr double changed = 1.5;   // factor, or its inverse, that means a different load
  static constexpr int at_once = 5;        // loops, if all of them have changed
  static constexpr int in_the_mean = 32;   // loops, for a change of their mean
  static constexpr std::uint32_t first_pause = 64;
  static constexpr std::uint32_t longest_pause = 2048;

  struct Sample {
    int count = 0;
    double mean = 0;
    double squares = 0;  // sum of squared deviations from the mean
    double least = 0;
    double most = 0;

    void add(double seconds);
    // Gives the measurements so far half their weight.
    void fade();
    // The mean; with three or more loops, without the slowest. That one may have been slow for another
    // reason, such as first-touch page faults.
    [[nodiscard]] double usual() const { return count < 3 ? mean : (mean * count - most) / (count - 1); }
    // Squared standard error of the mean. count >= 2.
    [[nodiscard]] double squared_error() const { return squares / (count - 1) / count; }
  };
  struct Candidate {
    int threads = 1;
    bool racing = false;
    Sample sample = {};  // of the current or the last race
  };

  [[nodiscard]] static std::size_t at(int candidate) { return static_cast<std::size_t>(candidate); }
  // Starts a race among the candidates [first, last].
  void begin_race(int first, int last);
  // In the first round, drops the remaining smaller counts once two steps down have been slower. Otherwise a
  // hundred CPUs would idle while one thread runs the loop.
  void leave_out_beyond(int candidate);
  // Noisy times make a race so long that it may outlast a site's calls. So after a few turns for each
  // candidate, most turns go to the fastest.
  [[nodiscard]] bool has_turn(int candidate) const;
  // Call after each round.
  void judge();
  void end_race(int winner);
  void used(double seconds);
  [[nodiscard]] bool other_load();

  std::array<Candidate, most_candidates> candidates_{};
  int count_ = 0;
  int best_ = 0;
  int current_ = 0;
  bool cold_ = true;  // the first loop measures caches and page faults
  bool racing_ = false;
  int rounds_ = 0;       // of this race
  double raced_ = 0;     // length of this race in seconds
  int leader_ = 0;       // fastest candidate so far
  bool chosen_ = false;  // a race has been won

  // Times of the best candidate since it was chosen.
  Sample reference_;  // its race and what followed, up to in_the_mean loops
  Sample recent_;     // the loops after reference_, up to in_the_mean
  std::array<double, at_once> last_{};
  std::uint32_t used_ = 0;  // loops since the choice
  std::uint32_t pause_ = first_pause;
};

}  // namespace millrace::opencv
