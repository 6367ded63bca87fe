#include "millrace/video/packet_index.h"

#include "millrace/video/ffmpeg_backend.h"

#include <algorithm>

namespace millrace::video {

bool PacketIndex::has_times() const {
  std::vector<std::int64_t> times;
  times.reserve(packets.size());
  for (const IndexedPacket& packet : packets) {
    if (!packet.shown) return false;
    times.push_back(*packet.shown);
  }
  std::ranges::sort(times);
  return std::ranges::adjacent_find(times) == times.end();
}

Result<PacketIndex> index_packets(const std::string& file, const std::stop_token& stop) {
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->index_packets(file, stop);
}

}  // namespace millrace::video
