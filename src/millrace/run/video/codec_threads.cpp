#include "millrace/run/video/codec_threads.h"

#include <algorithm>

namespace millrace::run {
namespace {

constexpr int most_decoder_threads = 8;
constexpr int many_cores = 8;
constexpr int most_encoder_threads = 64;

int encoder_threads(int cores) {
  return std::clamp(cores < many_cores ? cores : cores + cores / 2, 1, most_encoder_threads);
}

}  // namespace

CodecThreads choose_codec_threads(int cores, bool decodes, bool encodes) {
  return {.decoder = decodes ? std::clamp(cores, 1, most_decoder_threads) : 1,
          .encoder = encodes ? encoder_threads(cores) : 1};
}

}  // namespace millrace::run
