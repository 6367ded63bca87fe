#include "millrace/run/video/codec_threads.h"

#include <algorithm>

namespace millrace::run {
namespace {

constexpr int most_decoder_threads = 8;
constexpr int most_encoder_threads = 16;

}  // namespace

CodecThreads choose_codec_threads(int cores, bool decodes, bool encodes) {
  return {.decoder = decodes ? std::clamp(cores, 1, most_decoder_threads) : 1,
          .encoder = encodes ? std::clamp(cores, 1, most_encoder_threads) : 1};
}

}  // namespace millrace::run
