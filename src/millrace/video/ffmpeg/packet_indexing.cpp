// Indexes the packets of a file.
#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/entry_packets.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/linked_backend.h"

namespace millrace::video {

Result<PacketIndex> LinkedBackend::index_packets(const std::string& file, const std::stop_token& stop) const {
  const OwnFfmpegCalls own;
  auto opened = InputFile::open(file, {}, stop);
  if (!opened) return std::unexpected(std::move(opened.error()));
  const auto demuxer = Demuxer::open(*std::move(opened));
  if (!demuxer) return std::unexpected(demuxer.error());
  const AVRational unit = (*demuxer)->stream().time_base;
  PacketIndex index{.time_base_numerator = unit.num, .time_base_denominator = unit.den};
  while (true) {
    if (stop.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, file + ": interrupted"});
    const Demuxer::Read read = (*demuxer)->read();
    if ((*demuxer)->read_error()) return std::unexpected(*(*demuxer)->read_error());
    if (read.damage)
      return failure("{}: is damaged: packet {}: {}", file, index.packets.size(), *read.damage);
    if (read.outcome == Demuxer::Outcome::end) return index;
    const AVPacket& packet = *read.packet;
    const bool known = packet.pts != AV_NOPTS_VALUE && !(*demuxer)->is_elementary();
    index.packets.push_back({.shown = known ? std::optional(packet.pts) : std::nullopt,
                             .key = is_entry(packet, *(*demuxer)->stream().codecpar),
                             .discarded = (packet.flags & AV_PKT_FLAG_DISCARD) != 0});
  }
}

}  // namespace millrace::video
