// ThreadChoice: how many threads the loops of one call site get, chosen by what they took.
#pragma once

#include <array>
#include <cstdint>

namespace millrace::opencv {

// Pure: times in, counts out. Candidates are 1, 2, 4 ... and `most`. Each is tried, in turns, and given up at
// once where it is clearly slower; then the best one is used, the others are tried again now and then, ever
// more seldom, and all anew when the times of the best one change for good: another size, or a neighbour that
// came or went. Not synchronised.
class ThreadChoice {
 public:
  // most >= 1.
  explicit ThreadChoice(int most);

  // For the next loop.
  [[nodiscard]] int next() const { return candidates_[current_].threads; }
  // What that loop took, with next() threads.
  void took(double seconds);

  // The best one so far.
  [[nodiscard]] int best() const { return candidates_[best_].threads; }

 private:
  static constexpr int most_candidates = 8;
  static constexpr int window = 5;  // times of a candidate that count
  static constexpr int trials = 3;  // of each candidate, to begin with
  static constexpr std::uint32_t first_pause = 64;
  static constexpr std::uint32_t longest_pause = 2048;
  static constexpr double hopeless = 1.3;  // of the best one's time
  static constexpr double better = 0.97;   // what it takes to replace the best one
  static constexpr double changed = 1.5;   // or its inverse: another load

  struct Candidate {
    int threads = 1;
    int left = 0;  // trials
    int count = 0;
    std::array<double, window> times{};

    void add(double seconds) { times[static_cast<std::size_t>(count++ % window)] = seconds; }
    [[nodiscard]] double median() const;
  };

  void begin_trials();
  // The next candidate that has trials left, else the best one.
  void choose();

  std::array<Candidate, most_candidates> candidates_{};
  int count_ = 0;
  int best_ = 0;
  int current_ = 0;
  bool cold_ = true;      // the first loop of all measures caches and page faults
  double reference_ = 0;  // of the best one, when it was chosen; 0 while there are trials
  std::uint32_t pause_ = first_pause;
  std::uint32_t used_ = 0;  // loops since the last trial
};

}  // namespace millrace::opencv
