#include "millrace/video/ffmpeg/nal_units.h"

#include <algorithm>
#include <array>

namespace millrace::video {
namespace {

std::size_t length_size_of(const AVCodecParameters& parameters) {
  // The position of the length's size in the description, which is not one of Annex B if it begins with 1.
  const int at = parameters.codec_id == AV_CODEC_ID_HEVC ? 21 : 4;
  if (parameters.extradata_size <= at || parameters.extradata[0] != 1) return 0;
  return (parameters.extradata[at] & 3U) + 1;
}

}  // namespace

NalUnits::NalUnits(const AVPacket& packet, const AVCodecParameters& parameters)
    : rest_(packet.data, static_cast<std::size_t>(std::max(packet.size, 0))),
      length_size_(length_size_of(parameters)) {}

std::span<const std::uint8_t> NalUnits::next() {
  if (length_size_ == 0) {
    constexpr std::array<std::uint8_t, 3> start_code{0, 0, 1};
    rest_ = {std::ranges::search(rest_, start_code).end(), rest_.end()};
    return rest_;
  }
  while (rest_.size() > length_size_) {
    std::size_t length = 0;
    for (const std::uint8_t byte : rest_.first(length_size_))
      length = length << 8 | byte;
    rest_ = rest_.subspan(length_size_);
    const auto unit = rest_.first(std::min(length, rest_.size()));
    rest_ = rest_.subspan(unit.size());
    if (!unit.empty()) return unit;
  }
  return {};
}

}  // namespace millrace::video
