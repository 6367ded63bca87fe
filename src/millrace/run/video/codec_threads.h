// How many threads the decoder and the encoder of a run get. Pure.
#pragma once

namespace millrace::run {

struct CodecThreads {
  int decoder = 1;
  int encoder = 1;

  bool operator==(const CodecThreads&) const = default;
};

// cores: that the process may use, at least 1. decodes, encodes: whether there is anything to decode and to
// encode.
//
// Decoding, filtering and encoding overlap, and which of them takes longest is not known before the first
// frames have gone through, when a codec can no longer change its threads. In nearly every run from file to
// file it is the encoder. Each codec gets as many threads as there are cores: the kernel shares the cores out
// among those that have work, and a thread without work costs memory for a frame or two, no time. FFmpeg's
// H.264 decoder gains nothing beyond 8 threads. With 8 cores or more the encoder gets half as many again, as
// x264 itself would take: some of its threads always wait for rows of another frame (docs/benchmarks.md,
// sixteen processors).
[[nodiscard]] CodecThreads choose_codec_threads(int cores, bool decodes, bool encodes);

}  // namespace millrace::run
