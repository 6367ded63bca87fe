#include "millrace/video/coded/encoder_choice.h"

#include <fmt/format.h>

namespace millrace::video {

WrittenAs written_as(const EncoderChoice& choice) {
  return {.codec = std::string(choice.codec->name),
          .title = fmt::format("{}{}", choice.codec->title,
                               choice.codec->codec == VideoCodec::ffv1 ? " (lossless)" : ""),
          .fallback = choice.fallback,
          .bytes = std::nullopt};
}

}  // namespace millrace::video
