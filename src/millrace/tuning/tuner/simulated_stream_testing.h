// Runs the tuner or an alternative on a simulated stream and measures its quality.
#pragma once

#include "millrace/tuning/space/simulated_workload_testing.h"
#include "millrace/tuning/tuner/alternatives_testing.h"
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <functional>

namespace millrace::tuning::testing {

struct StreamResult {
  double loss = 0;     // expected time / expected time with the best candidate throughout, minus 1
  double settled = 0;  // seconds from the last change of the workload until it stays within 5 % of the best
  double final_ratio = 1;  // cost of the last incumbent relative to the best
  int switches = 0;        // of the incumbent
  int false_switches = 0;  // to a candidate that costs over 1 % more than its predecessor
  std::int64_t frames = 0;
  double lost_to_trials = 0;   // the tuner's own estimate, in seconds
  std::int64_t to_others = 0;  // frames of challengers
};

struct StreamOptions {
  double seconds = 60;
  std::int64_t frames = 0;        // length of the stream, which the tuner is told; 0: limited by `seconds`
  double expected = 1;            // factor on the number of frames told at first
  std::int64_t corrected_at = 0;  // frame at which the tuner is told the true number
  double cold = 0.3;              // extra time of the first frame after a switch, in frames
  Noise noise;
  std::uint64_t seed = 1;
  double change_at = -1;  // seconds; negative: never
  std::function<void(SimulatedWorkload&)> change = [](SimulatedWorkload&) {};
  double announce_after = -1;  // seconds from the change to context_changed(); negative: never
  double compile_seconds = 0;  // per wanted build
  double compile_slowdown = 1.3;
  std::function<void(const Observation&, Tuner&)> watch = [](const Observation&, Tuner&) {};
};

// Collects the results of a stream.
class StreamMeter {
 public:
  explicit StreamMeter(const SimulatedWorkload& workload) : workload_(workload) {}

  void ran(int candidate, double weather, double cold) {
    taken_ += workload_.seconds(candidate) * weather * (1 + cold);
    least_ += workload_.seconds(workload_.best()) * weather;
    ++result_.frames;
  }
  void incumbent_is(int candidate, double time) {
    if (last_ >= 0 && candidate != last_) {
      ++result_.switches;
      if (workload_.seconds(candidate) > 1.01 * workload_.seconds(last_)) ++result_.false_switches;
    }
    last_ = candidate;
    if (workload_.ratio(candidate) > 1.05) unsettled_ = time;
  }
  void changed(double time) {
    change_ = time;
    unsettled_ = time;
  }
  [[nodiscard]] StreamResult result() {
    result_.loss = taken_ / least_ - 1;
    result_.settled = unsettled_ - change_;
    result_.final_ratio = workload_.ratio(last_);
    return result_;
  }

 private:
  const SimulatedWorkload& workload_;
  StreamResult result_;
  double taken_ = 0;
  double least_ = 0;
  int last_ = -1;
  double change_ = 0;
  double unsettled_ = 0;
};

// Leaves the workload as the stream changed it.
inline StreamResult run_tuner(SimulatedWorkload& workload, Tuner& tuner, const StreamOptions& options) {
  SimulatedMachine machine(options.noise, options.seed);
  StreamMeter meter(workload);
  int ran = -1;
  int compiling = -1;
  double compiled_at = 0;
  bool changed = false;
  bool announced = options.announce_after < 0;
  std::int64_t frames = 0;
  std::int64_t to_others = 0;
  const auto over = [&] {
    return options.frames > 0 ? frames == options.frames : machine.time() >= options.seconds;
  };
  for (; !over(); ++frames) {
    if (options.frames > 0) {
      const auto expected = static_cast<std::int64_t>(options.expected * static_cast<double>(options.frames));
      if (frames > 0 && frames == options.corrected_at) tuner.expect_more(options.frames - expected);
      tuner.frames_left((frames < options.corrected_at ? expected : options.frames) - frames);
    }
    if (!changed && options.change_at >= 0 && machine.time() >= options.change_at) {
      options.change(workload);
      meter.changed(machine.time());
      changed = true;
    }
    if (changed && !announced && machine.time() >= options.change_at + options.announce_after) {
      tuner.context_changed(machine.time());
      announced = true;
    }
    if (compiling >= 0 && machine.time() >= compiled_at) {
      tuner.ready(compiling);
      compiling = -1;
    }
    const Trial trial = tuner.ask();
    to_others += trial.role == Role::challenger ? 1 : 0;
    if (compiling < 0 && !tuner.wanted_builds().empty()) {
      compiling = tuner.wanted_builds().front();
      compiled_at = machine.time() + options.compile_seconds;
    }
    const bool cold = trial.candidate != ran;
    const double disturbance = compiling >= 0 ? options.compile_slowdown : 1;
    const double slower = cold ? options.cold : 0;
    meter.ran(trial.candidate, machine.weather(), slower);
    const double seconds = machine.run(workload.seconds(trial.candidate) * disturbance * (1 + slower));
    const Observation observation{.candidate = trial.candidate,
                                  .time = machine.time(),
                                  .seconds = seconds,
                                  .trusted = !cold && compiling < 0};
    tuner.tell(observation);
    options.watch(observation, tuner);
    ran = trial.candidate;
    meter.incumbent_is(tuner.incumbent(), machine.time());
  }
  StreamResult result = meter.result();
  result.lost_to_trials = tuner.seconds_lost();
  result.to_others = to_others;
  return result;
}

inline StreamResult run_alternative(SimulatedWorkload& workload, Alternative& alternative,
                                    const StreamOptions& options) {
  SimulatedMachine machine(options.noise, options.seed);
  StreamMeter meter(workload);
  int ran = -1;
  bool changed = false;
  while (machine.time() < options.seconds) {
    if (!changed && options.change_at >= 0 && machine.time() >= options.change_at) {
      options.change(workload);
      meter.changed(machine.time());
      changed = true;
    }
    const int candidate = alternative.ask();
    const bool cold = candidate != ran;
    const double slower = cold ? options.cold : 0;
    meter.ran(candidate, machine.weather(), slower);
    alternative.tell(candidate, machine.run(workload.seconds(candidate) * (1 + slower)));
    ran = candidate;
    meter.incumbent_is(alternative.incumbent(), machine.time());
  }
  return meter.result();
}

}  // namespace millrace::tuning::testing
