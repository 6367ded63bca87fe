// The experiment of the report on x264 and the kernel's scheduler: how the encoder is run, and what comes of
// it beside the report. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/report/comparison/comparison.h"

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

inline constexpr std::string_view x264_study = "x264";
inline constexpr std::string_view x264_title = "x264's look-ahead on several threads, by scheduling class";

// The small and the large clip, in the place of the report's SD and HD.
enum class EncoderClip { sd, hd };
// fifo stands in for BFS, which no kernel of today has: it too lets a thread run until it waits, whoever woke
// up.
enum class EncoderClass { other, other_long_slice, batch, batch_long_slice, rr, fifo };
[[nodiscard]] std::string_view name_of(EncoderClip clip);
[[nodiscard]] std::string_view name_of(EncoderClass scheduling_class);
[[nodiscard]] const std::vector<EncoderClass>& all_encoder_classes();

struct EncoderSetting {
  EncoderClip clip = EncoderClip::sd;
  int threads = 4;
  int lookahead = 1;  // threads of the look-ahead: 1 before the change that the report is about, 4 after
  EncoderClass scheduling_class = EncoderClass::other;

  auto operator<=>(const EncoderSetting&) const = default;
};

struct EncoderRuns {
  std::vector<double> fps;         // as x264 states it, of each run
  std::vector<double> switches;    // of context, a frame
  std::vector<double> waiting_ms;  // on run queues, of all threads, a frame
};

struct EncoderObservations {
  int cpus = 1;       // that it was bound to; the report: 4
  std::string clips;  // what they are
  std::map<EncoderSetting, EncoderRuns> runs;
  std::map<EncoderClass, std::string> missing;  // why a class cannot be had
};

[[nodiscard]] std::vector<EncoderSetting> encoder_settings(bool quick);
[[nodiscard]] Result<Comparison> compare(const EncoderObservations& observed);

}  // namespace millrace::report
