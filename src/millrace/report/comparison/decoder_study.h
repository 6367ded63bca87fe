// The UDispatch+ paper's experiments on a video decoder: tables III and V. Pure.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/report/comparison/comparison.h"
#include "millrace/report/comparison/placement_gain.h"

#include <compare>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::report {

enum class DecoderStudy { table3, table5 };
// "dispatch-table3", "dispatch-table5"
[[nodiscard]] std::string_view name_of(DecoderStudy study);
[[nodiscard]] std::string_view title_of(DecoderStudy study);
[[nodiscard]] std::span<const DecoderStudy> all_decoder_studies();

// H.264 by ffmpeg, AV1 by dav1d.
enum class Decoder { ffmpeg, dav1d };
[[nodiscard]] std::string_view name_of(Decoder decoder);

// A stream with the size and length of one of the paper's streams 1 to 10.
struct DecoderStream {
  int number = 1;
  int width = 0;
  int height = 0;
  int frames = 0;
};
[[nodiscard]] std::span<const DecoderStream> paper_streams();

struct DecoderSetting {
  int stream = 1;  // number
  Decoder decoder = Decoder::ffmpeg;
  Binding binding = Binding::none;

  auto operator<=>(const DecoderSetting&) const = default;
};

struct DecoderObservations {
  int cpus = 1;
  int threads = 4;
  bool generated = false;  // no clip was given
  std::string source;      // content of the streams
  std::vector<DecoderStream> streams;
  std::vector<Decoder> decoders;
  std::map<Decoder, std::string> missing;              // why a decoder is not available
  std::map<DecoderSetting, std::vector<double>> ms;    // of each execution, interleaved
  std::map<std::pair<int, Decoder>, double> alone_ms;  // by one thread on one CPU
  ThreadCosts costs;
};

// For one stream and decoder, each binding once.
[[nodiscard]] std::vector<Binding> decoder_bindings(std::span<const DecoderStudy> studies);
// Fails if a setting was not observed, or less often than the others.
[[nodiscard]] Result<Comparison> compare(DecoderStudy study, const DecoderObservations& observed);

// Time that main spends alone, from the decoder's time on one CPU and its time with threads on `cpus` CPUs
// (more than one). Amdahl's law, solved for the serial part and clamped to between 0 and the whole time.
[[nodiscard]] double serial_part_ms(double alone_ms, double together_ms, int cpus);

}  // namespace millrace::report
