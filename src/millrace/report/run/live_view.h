// Formats the state of a run as lines of a screen. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::report {

// Seconds since the run began.
struct LiveSample {
  double at = 0;
  std::int64_t frames = 0;
  double computing = 0;
  double input_wait = 0;
  double output_wait = 0;
  // By worker, from any origin: time on a CPU, and time with work but without a CPU.
  std::vector<double> workers;
  std::vector<double> waits;
};

struct LiveRun {
  std::string pipeline;
  std::string from;
  std::string to;
  std::optional<std::int64_t> total;  // frames
  LiveSample earlier;                 // the values shown as current are the differences from earlier to now
  LiveSample now;
  std::string bottleneck;  // "decode", "compute" or "encode"; empty: none
  std::string cpus;        // description, if workers wait for CPUs; otherwise empty
  std::string running;     // schedules
  std::string incumbent;   // empty: the schedule was given
  std::string trial;       // empty: none at the moment
  std::int64_t trials = 0;
  std::vector<std::string> decisions;  // most recent last
};

struct LiveSpan {
  enum class Style { plain, strong, soft, bar };
  std::string text;  // for a bar: spaces
  Style style = Style::plain;
};
using LiveLine = std::vector<LiveSpan>;

// At most `height` lines of at most `width` characters each, whatever the run is called. If there is little
// room, less important lines are dropped first.
[[nodiscard]] std::vector<LiveLine> live_lines(const LiveRun& run, int width, int height);

}  // namespace millrace::report
