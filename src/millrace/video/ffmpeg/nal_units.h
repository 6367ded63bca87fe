// NalUnits: the NAL units of an H.264 or HEVC packet, found without decoding.
//
//   NalUnits units(packet, parameters);
//   for (auto unit = units.next(); !unit.empty(); unit = units.next()) look_at(unit);
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace::video {

// Sources: ITU-T H.264 and H.265, annex B (start codes); ISO/IEC 14496-15, 5.3.3 and 8.3.3 (lengths).
class NalUnits {
 public:
  // `parameters` belong to the packet's stream. Damaged ones give wrong units, but never bytes outside of the
  // packet. The packet must outlive the units.
  NalUnits(const AVPacket& packet, const AVCodecParameters& parameters);

  // Returns the next unit, from its header on. Empty at the end. A unit that follows a start code comes with
  // everything behind it, so that nobody has to search a picture for its end.
  [[nodiscard]] std::span<const std::uint8_t> next();

 private:
  std::span<const std::uint8_t> rest_;
  std::size_t length_size_ = 0;  // of the length before each unit; 0: start codes
};

}  // namespace millrace::video
