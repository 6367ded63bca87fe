// Simulated streams of frames: candidates with known costs, and the noise of a shared machine.
#pragma once

#include "millrace/tuning/space/objective.h"
#include "millrace/tuning/space/space.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace millrace::tuning::testing {

// Models real run times: most frames are within a few percent of each other, and rare frames are several
// times slower. The machine's speed drifts, and in bursts other processes take the processor.
struct Noise {
  double sigma = 0.05;          // standard deviation of a frame's log cost
  double outlier_share = 0.01;  // share of frames that take 2 to 10 times as long
  double drift = 0.08;          // standard deviation of the machine's log speed: usually within +-15 %
  double drift_seconds = 5;     // time constant of the drift
  double burst_every = 5;       // seconds between two bursts, on average
  double burst_seconds = 0.05;
  double burst_slowdown = 1.6;
};

// The knobs of a frame executor; 30 to 1500 candidates.
struct WorkloadSize {
  int structures = 6;
  int fusions = 4;
  int tiles = 6;  // values per dimension
  int threads = 2;
  int in_flight = 2;
};

// Costs with interactions between the knobs, drawn from the seed. Structures 0 to 2 have no tiles.
class SimulatedWorkload {
 public:
  SimulatedWorkload(WorkloadSize size, double best_seconds, std::uint64_t seed)
      : space_(make_space(size)), best_seconds_(best_seconds) {
    redraw(seed);
  }

  // Changes the situation: new costs for the same candidates, which differ from the previous ones by about
  // `change` in log cost.
  void redraw(std::uint64_t seed, double change = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    const auto draw = [&](double scale) { return scale * normal(random); };
    const auto& knobs = space_.knobs();
    std::vector<std::vector<double>> main(knobs.size());
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      double walk = draw(0.2);
      for (std::size_t v = 0; v < knobs[k].values.size(); ++v) {
        main[k].push_back(knobs[k].ordinal ? walk : draw(k == 0 ? 0.5 : 0.25));
        walk += draw(0.12);
      }
    }
    // Each structure has its own best tile size and its own preferences for fusion and threads.
    std::vector<double> tile_width;
    std::vector<double> tile_height;
    std::vector<double> taste;
    for (std::size_t s = 0; s < knobs[0].values.size(); ++s) {
      tile_width.push_back(std::abs(std::fmod(draw(3) + 3, 6)));
      tile_height.push_back(std::abs(std::fmod(draw(3) + 3, 6)));
      for (int i = 0; i < 8; ++i)
        taste.push_back(draw(0.15));
    }
    std::vector<double> fresh;
    for (int c = 0; c < space_.size(); ++c) {
      const auto v = space_.values(c);
      const auto s = static_cast<std::size_t>(v[0]);
      double cost = draw(0.02);
      for (std::size_t k = 0; k < knobs.size(); ++k)
        cost += main[k][static_cast<std::size_t>(v[k])];
      if (v[0] >= first_tiled) {
        cost += 0.03 * std::pow(v[2] - tile_width[s], 2) + 0.03 * std::pow(v[3] - tile_height[s], 2);
      }
      cost += taste[s * 8 + static_cast<std::size_t>(v[1] % 4)] +
              taste[s * 8 + 4 + static_cast<std::size_t>(v[4] % 4)];
      fresh.push_back(cost);
    }
    if (log_cost_.empty()) log_cost_.assign(fresh.size(), 0);
    for (std::size_t c = 0; c < fresh.size(); ++c) {
      log_cost_[c] = std::sqrt(1 - change * change) * log_cost_[c] + change * fresh[c];
    }
    best_ = static_cast<int>(std::ranges::min_element(log_cost_) - log_cost_.begin());
    const double least = log_cost_[static_cast<std::size_t>(best_)];
    for (double& cost : log_cost_)
      cost -= least;
  }

  // Simulates another process that takes a share of the machine: candidates with more threads suffer more.
  void load_a_core(double slowdown_per_thread) {
    for (int c = 0; c < space_.size(); ++c) {
      log_cost_[static_cast<std::size_t>(c)] += slowdown_per_thread * space_.values(c)[4];
    }
    best_ = static_cast<int>(std::ranges::min_element(log_cost_) - log_cost_.begin());
  }

  [[nodiscard]] const Space& space() const { return space_; }
  [[nodiscard]] int best() const { return best_; }
  [[nodiscard]] double seconds(int candidate) const {
    return best_seconds_ * std::exp(log_cost_[static_cast<std::size_t>(candidate)]);
  }
  // Cost relative to the best candidate.
  [[nodiscard]] double ratio(int candidate) const { return seconds(candidate) / seconds(best_); }

  // A guess like that of a simple model: correct only about larger differences.
  [[nodiscard]] std::vector<double> prior(std::uint64_t seed, double error = 0.4) const {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> of_structure;
    for (std::size_t i = 0; i < space_.knobs()[0].values.size(); ++i)
      of_structure.push_back(error * normal(random));
    std::vector<double> prior;
    for (int c = 0; c < space_.size(); ++c) {
      prior.push_back(std::exp(log_cost_[static_cast<std::size_t>(c)] +
                               of_structure[static_cast<std::size_t>(space_.values(c)[0])] +
                               0.2 * normal(random)));
    }
    return prior;
  }
  // Candidates with fusion share one compilation per structure and fusion.
  [[nodiscard]] std::vector<int> builds() const {
    std::vector<int> builds;
    for (int c = 0; c < space_.size(); ++c) {
      const auto v = space_.values(c);
      builds.push_back(v[1] == 0 ? -1 : v[0] * 16 + v[1]);
    }
    return builds;
  }

 private:
  static constexpr int first_tiled = 3;

  static std::vector<std::string> numbers(const std::string& prefix, int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i)
      names.push_back(prefix + std::to_string(i));
    return names;
  }
  static Space make_space(WorkloadSize size) {
    auto space =
        Space::make({{"structure", numbers("s", size.structures)},
                     {"fusion", numbers("f", size.fusions)},
                     {"tile_width", numbers("w", size.tiles), true},
                     {"tile_height", numbers("h", size.tiles), true},
                     {"threads", numbers("t", size.threads), true},
                     {"in_flight", numbers("k", size.in_flight), true}},
                    [](std::span<const int> v) { return v[0] >= first_tiled || (v[2] == 0 && v[3] == 0); });
    return std::move(*space);
  }

  Space space_;
  double best_seconds_;
  std::vector<double> log_cost_;
  int best_ = 0;
};

// Simulates the time of successive frames. Machines with equal seeds have equal speed and bursts at equal
// times, regardless of the candidates that ran.
class SimulatedMachine {
 public:
  SimulatedMachine(const Noise& noise, std::uint64_t seed)
      : noise_(noise), frames_(seed), weather_(seed * 7919 + 1) {
    next_burst_ = exponential();
  }

  [[nodiscard]] double time() const { return time_; }
  // Current slowdown of the machine; 1: nominal speed.
  [[nodiscard]] double weather() const {
    return std::exp(drift_) * (time_ < burst_end_ ? noise_.burst_slowdown : 1);
  }

  // Runs one frame that takes `seconds` on an idle machine.
  double run(double seconds) {
    double taken = seconds * weather() * std::exp(noise_.sigma * normal_(frames_));
    if (uniform_(frames_) < noise_.outlier_share) taken *= 2 + 8 * uniform_(frames_);
    time_ += taken;
    while (time_ >= next_step_)
      step();
    return taken;
  }

 private:
  static constexpr double step_seconds = 0.05;

  double exponential() { return -std::log(1 - uniform_(weather_)) * noise_.burst_every; }
  void step() {
    const double keep = std::exp(-step_seconds / noise_.drift_seconds);
    drift_ = keep * drift_ + std::sqrt(1 - keep * keep) * noise_.drift * normal_(weather_);
    if (next_step_ >= next_burst_) {
      burst_end_ = next_step_ + noise_.burst_seconds * (0.5 + uniform_(weather_));
      next_burst_ = next_step_ + exponential();
    }
    next_step_ += step_seconds;
  }

  Noise noise_;
  std::mt19937_64 frames_;
  std::mt19937_64 weather_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double time_ = 0;
  double drift_ = 0;
  double next_step_ = step_seconds;
  double next_burst_ = 0;
  double burst_end_ = 0;
};

}  // namespace millrace::tuning::testing
