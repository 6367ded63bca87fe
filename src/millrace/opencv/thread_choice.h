// ThreadChoice: how many threads the loops of one call site get, chosen by what they took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::opencv {

// Pure: times in, counts out. Candidates are 1, 2, 4 ... and `most`. They race: all are used in turns until
// the others are clearly slower, by their means, since the mean is what is waited for where loops are held up
// now and then; the noisier the times, the longer that takes. Then the best one is used. It races again with
// its neighbours now and then, ever more seldom, and with all when its times change for good: another size,
// or a neighbour that came or went. Not synchronised.
class ThreadChoice {
 public:
  // most >= 1.
  explicit ThreadChoice(int most);

  // For the next loop.
  [[nodiscard]] int next() const { return candidates_[at(current_)].threads; }
  // What that loop took, with next() threads.
  void took(double seconds);

  // The best one so far.
  [[nodiscard]] int best() const { return candidates_[at(best_)].threads; }

 private:
  static constexpr int most_candidates = 8;
  static constexpr int fewest_rounds = 3;  // of a race, unless somebody is beyond hope
  // Of its loops. Others keep a CPU to themselves for a slice of time, or poll on it for a moment: of a race
  // that is as short one side alone may meet them.
  static constexpr double least_seconds = 0.005;
  static constexpr int most_rounds = 96;
  static constexpr int seldom = 7;  // prime, as what comes every fourth or eighth time is to meet all; rounds
                                    // from one turn to the next of who is behind
  static constexpr double clearly = 2.5;   // standard errors
  static constexpr double surely = 4;      // the same, for what costs a race of all
  static constexpr double hopeless = 1.3;  // of the slowest loop of the best one
  static constexpr double better = 0.97;   // what it takes to replace the best one
  static constexpr double changed = 1.5;   // or its inverse: another load
  static constexpr int at_once = 5;        // loops that are enough to see a change of all of them
  static constexpr int in_the_mean = 32;   // and of their mean
  static constexpr std::uint32_t first_pause = 64;
  static constexpr std::uint32_t longest_pause = 2048;

  struct Sample {
    int count = 0;
    double mean = 0;
    double squares = 0;  // of the distances to the mean, summed up
    double least = 0;
    double most = 0;

    void add(double seconds);
    // Counts half from now on: what was measured long ago counts less and less.
    void fade();
    // The mean without the slowest loop, if there are several: that one may have met what is no fault of its
    // number of threads, such as memory that was touched for the first time.
    [[nodiscard]] double usual() const { return count < 3 ? mean : (mean * count - most) / (count - 1); }
    // Of the mean. count >= 2.
    [[nodiscard]] double squared_error() const { return squares / (count - 1) / count; }
  };
  struct Candidate {
    int threads = 1;
    bool racing = false;
    Sample sample = {};  // of this race, or of the last one
  };

  [[nodiscard]] static std::size_t at(int candidate) { return static_cast<std::size_t>(candidate); }
  // Among candidates [first, last].
  void begin_race(int first, int last);
  // In the first round: a hundred processors do not wait for what one of them alone takes, where two steps
  // down have made it slower.
  void leave_out_beyond(int candidate);
  // Where times vary much a race is long, and may be all that a site is called for: once each has had a few
  // turns, most of them go to the fastest.
  [[nodiscard]] bool has_turn(int candidate) const;
  // After each round.
  void judge();
  void end_race(int winner);
  void used(double seconds);
  [[nodiscard]] bool other_load();

  std::array<Candidate, most_candidates> candidates_{};
  int count_ = 0;
  int best_ = 0;
  int current_ = 0;
  bool cold_ = true;  // the first loop of all measures caches and page faults
  bool racing_ = false;
  int rounds_ = 0;       // of this race
  double raced_ = 0;     // seconds
  int leader_ = 0;       // the fastest so far
  bool chosen_ = false;  // there is a best one to be replaced

  // Of the best one since it was chosen.
  Sample reference_;  // its race, and what followed; until it has in_the_mean loops
  Sample recent_;     // what followed that, up to in_the_mean loops
  std::array<double, at_once> last_{};
  std::uint32_t used_ = 0;  // loops
  std::uint32_t pause_ = first_pause;
};

}  // namespace millrace::opencv
