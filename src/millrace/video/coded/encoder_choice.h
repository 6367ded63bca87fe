// The encoding settings that follow from a container, a codec and a frame format.
#pragma once

#include "millrace/video/coded/coded_kinds.h"
#include "millrace/video/frame/written_as.h"

#include <string>

namespace millrace::video {

struct EncoderChoice {
  const Container* container = nullptr;
  const Codec* codec = nullptr;
  int pixel_format = -1;  // AVPixelFormat
  int slices = 0;         // per picture; 0: the encoder's default
  std::string fallback;   // see WrittenAs
};

// Leaves the size unset.
[[nodiscard]] WrittenAs written_as(const EncoderChoice& choice);

}  // namespace millrace::video
