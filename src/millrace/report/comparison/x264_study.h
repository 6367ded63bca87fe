// The experiment of the report on x264 and the kernel's scheduler: the encoder's settings, and the comparison
// with the report. Pure.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/report/comparison/comparison.h"

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

inline constexpr std::string_view x264_study = "x264";
inline constexpr std::string_view x264_title = "x264's look-ahead on several threads, by scheduling class";

// The small and the large clip, replacing the report's SD and HD.
enum class EncoderClip { sd, hd };
// fifo stands in for BFS, which current kernels lack. Like BFS, it lets a thread run until it waits, even if
// others wake up.
enum class EncoderClass { other, other_long_slice, batch, batch_long_slice, rr, fifo };
[[nodiscard]] std::string_view name_of(EncoderClip clip);
[[nodiscard]] std::string_view name_of(EncoderClass scheduling_class);
[[nodiscard]] const std::vector<EncoderClass>& all_encoder_classes();

struct EncoderSetting {
  EncoderClip clip = EncoderClip::sd;
  int threads = 4;
  int lookahead = 1;  // lookahead threads: 1 before the change that the report is about, 4 after
  EncoderClass scheduling_class = EncoderClass::other;

  auto operator<=>(const EncoderSetting&) const = default;
};

struct EncoderRuns {
  std::vector<double> fps;         // as reported by x264, by run
  std::vector<double> switches;    // context switches per frame
  std::vector<double> waiting_ms;  // on run queues, summed over all threads, per frame
};

struct EncoderObservations {
  int cpus = 1;       // CPUs to which it was pinned; 4 in the report
  std::string clips;  // their description
  std::map<EncoderSetting, EncoderRuns> runs;
  std::map<EncoderClass, std::string> missing;  // why a class is not available
};

[[nodiscard]] std::vector<EncoderSetting> encoder_settings(bool quick);
[[nodiscard]] Result<Comparison> compare(const EncoderObservations& observed);

}  // namespace millrace::report
