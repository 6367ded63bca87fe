#include "millrace/opencv/thread_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <gmock/gmock.h>

namespace millrace::opencv {
namespace {

// Total time of `loops` loops, with times in seconds by thread count; and how often each count was used.
struct Outcome {
  double seconds = 0;
  std::map<int, int> used;
};
Outcome simulate(ThreadChoice& choice, int loops, const std::function<double(int threads)>& seconds) {
  Outcome outcome;
  for (int i = 0; i < loops; ++i) {
    const int threads = choice.next();
    const double took = seconds(threads);
    outcome.seconds += took;
    ++outcome.used[threads];
    choice.took(took);
  }
  return outcome;
}

TEST(ThreadChoice, TriesPowersOfTwoAndTheMost) {
  for (const auto& [most, expected] :
       std::map<int, std::set<int>>{{1, {1}},
                                    {2, {1, 2}},
                                    {6, {1, 2, 4, 6}},
                                    {8, {1, 2, 4, 8}},
                                    {192, {1, 2, 4, 8, 16, 32, 64, 128, 192}}}) {
    ThreadChoice choice(most);
    std::set<int> tried;
    for (const auto& [threads, times] : simulate(choice, 200, [](int) { return 1.0; }).used)
      tried.insert(threads);
    for (const int threads : tried)
      EXPECT_TRUE(expected.contains(threads)) << threads << " of " << most;
    EXPECT_TRUE(tried.contains(most));
    if (most <= 8) {
      EXPECT_EQ(tried, expected);
    }
  }
}

class EveryGain : public testing::TestWithParam<double> {};  // gain from doubling the threads

// For any gain, little is lost compared with always using the best count, with 5 % noise.
TEST_P(EveryGain, CostsLittleMoreThanTheBestCount) {
  for (const int most : {2, 3, 8, 64}) {
    std::mt19937 random(static_cast<unsigned>(most));
    std::lognormal_distribution<double> noise(0, 0.05);
    const auto mean = [](int threads) { return std::pow(threads, -std::log2(GetParam())); };
    const double best = std::min(mean(1), mean(most));
    ThreadChoice choice(most);
    const Outcome outcome =
        simulate(choice, 3000, [&](int threads) { return mean(threads) * noise(random); });
    // Finding out may take as long as a few loops with the worst count.
    const double worst = std::max(mean(1), mean(most));
    EXPECT_LT(outcome.seconds, 1.03 * 3000 * best + 4 * worst) << most;
  }
}

INSTANTIATE_TEST_SUITE_P(Gains, EveryGain, testing::Values(0.5, 0.8, 0.95, 1.0, 1.05, 1.3, 1.8, 2.0));

// Other processes take CPUs away for some time. Parameters: gain from doubling the threads, duration of an
// interruption, and time between two, as multiples of a loop with one thread.
class EveryBusyMachine : public testing::TestWithParam<std::tuple<double, double, double>> {};

TEST_P(EveryBusyMachine, CostsLittleMoreThanTheBestCount) {
  const auto [gain, held, between] = GetParam();
  const auto alone = [&](int threads) { return std::pow(threads, -std::log2(gain)); };
  const auto held_up = [&](int threads) { return 1 - std::pow(1 - alone(threads) / between, threads); };
  const auto mean = [&](int threads) { return alone(threads) + held * held_up(threads); };
  constexpr int loops = 3000;
  constexpr int seeds = 16;
  double seconds = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    std::mt19937 random(seed);
    std::lognormal_distribution<double> noise(0, 0.05);
    std::uniform_real_distribution<double> chance;
    ThreadChoice choice(2);
    seconds += simulate(choice, loops, [&](int threads) {
                 return alone(threads) * noise(random) + (chance(random) < held_up(threads) ? held : 0);
               }).seconds;
  }
  EXPECT_LT(seconds, 1.08 * seeds * loops * std::min(mean(1), mean(2)));
}

INSTANTIATE_TEST_SUITE_P(Machines, EveryBusyMachine,
                         testing::Combine(testing::Values(0.8, 1.0, 1.3, 1.8, 2.0),
                                          testing::Values(4.0, 20.0), testing::Values(3.5, 7.0)));

// A site with only a hundred loops, on busy and idle machines, so that the race takes most of them.
TEST(ThreadChoice, CostsLittleMoreThanTheBestCountWhereASiteIsCalledSeldom) {
  constexpr int loops = 100;
  constexpr int seeds = 40;
  double logarithms = 0;
  double worst = 0;
  int machines = 0;
  for (const double gain : {0.6, 0.8, 1.0, 1.3, 1.6, 1.9})
    for (const double held : {0.0, 1.0, 4.0, 20.0})
      for (const double between : {3.5, 7.0, 30.0}) {
        const auto alone = [&](int threads) { return std::pow(threads, -std::log2(gain)); };
        const auto held_up = [&](int threads) { return 1 - std::pow(1 - alone(threads) / between, threads); };
        const auto mean = [&](int threads) { return alone(threads) + held * held_up(threads); };
        double seconds = 0;
        for (unsigned seed = 1; seed <= seeds; ++seed) {
          std::mt19937 random(seed);
          std::lognormal_distribution<double> noise(0, 0.1);
          std::uniform_real_distribution<double> chance;
          ThreadChoice choice(2);
          seconds += simulate(choice, loops, [&](int threads) {
                       return alone(threads) * noise(random) + (chance(random) < held_up(threads) ? held : 0);
                     }).seconds;
        }
        const double ratio = seconds / (seeds * loops * std::min(mean(1), mean(2)));
        logarithms += std::log(ratio);
        worst = std::max(worst, ratio);
        ++machines;
      }
  EXPECT_LT(std::exp(logarithms / machines), 1.065);  // 1.076 if both have equally many turns
  EXPECT_LT(worst, 1.25);                             // 1.31
}

TEST(ThreadChoice, FollowsANeighbourThatComesAndGoes) {
  ThreadChoice choice(2);
  const auto alone = [](int threads) { return threads == 2 ? 0.55 : 1.0; };
  const auto beside = [](int threads) { return threads == 2 ? 1.6 : 1.0; };
  EXPECT_GT(simulate(choice, 300, alone).used[2], 280);
  EXPECT_GT(simulate(choice, 300, beside).used[1], 270);
  // The used count is as fast as before; the rejected ones are tried again in time.
  simulate(choice, 300, alone);
  EXPECT_GT(simulate(choice, 300, alone).used[2], 280);
}

TEST(ThreadChoice, FollowsASizeThatChanges) {
  ThreadChoice choice(2);
  EXPECT_GT(simulate(choice, 300, [](int threads) { return threads == 2 ? 80e-6 : 20e-6; }).used[1], 265);
  EXPECT_GT(simulate(choice, 300, [](int threads) { return threads == 2 ? 1.1e-3 : 2e-3; }).used[2], 265);
}

TEST(ThreadChoice, IsNotMisledByASlowFirstLoop) {
  ThreadChoice choice(2);
  int loops = 0;
  const Outcome outcome = simulate(choice, 200, [&](int threads) {
    return loops++ == 0 ? 1.0 : threads == 2 ? 0.01 : 0.02;
  });
  EXPECT_GT(outcome.used.at(2), 190);
}

}  // namespace
}  // namespace millrace::opencv
