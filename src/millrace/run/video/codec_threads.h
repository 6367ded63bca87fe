// Chooses the number of decoder and encoder threads of a run. Pure.
#pragma once

namespace millrace::run {

struct CodecThreads {
  int decoder = 1;
  int encoder = 1;

  bool operator==(const CodecThreads&) const = default;
};

// cores: cores that the process may use, at least 1. decodes, encodes: whether the run decodes or encodes.
//
// Decoding, filtering and encoding overlap. Their bottleneck is unknown until the first frames have passed,
// and by then a codec can no longer change its threads. In nearly every run from file to file it is the
// encoder. So each codec gets as many threads as there are cores. The kernel divides the cores among busy
// threads; an idle thread costs memory for a frame or two, but no time.
//
// FFmpeg's H.264 decoder gains nothing beyond 8 threads. From 8 cores on, the encoder gets 1.5 threads per
// core, as in x264 itself, because some of its threads always wait for rows of another frame
// (docs/benchmarks.md, sixteen processors).
[[nodiscard]] CodecThreads choose_codec_threads(int cores, bool decodes, bool encodes);

}  // namespace millrace::run
