#include "millrace/video/ffmpeg/demuxer.h"

#include "millrace/video/ffmpeg/ffv1_checksum.h"
#include "millrace/video/ffmpeg/matroska_size.h"

#include <array>

namespace millrace::video {
namespace {

// A demuxer of bare H.264, HEVC and the like knows its one stream without looking into it. Probing would
// decode some twenty frames and throw them away.
bool is_elementary_stream(const AVFormatContext& format) {
  return format.nb_streams == 1 && (format.iformat->flags & AVFMT_NOTIMESTAMPS) != 0 &&
         (format.streams[0]->codecpar->codec_id == AV_CODEC_ID_H264 ||
          format.streams[0]->codecpar->codec_id == AV_CODEC_ID_HEVC);
}

}  // namespace

Result<std::unique_ptr<Demuxer>> Demuxer::open(std::unique_ptr<InputFile> file) {
  std::unique_ptr<Demuxer> demuxer(new Demuxer(std::move(file)));
  if (Status opened = demuxer->open(); !opened) return std::unexpected(std::move(opened.error()));
  return demuxer;
}

Status Demuxer::open() {
  if (bridge_.io() == nullptr) return failure("{}: out of memory", name_);
  if (Status looked = look_at_start(); !looked) return looked;
  AVFormatContext* context = avformat_alloc_context();
  if (context == nullptr) return failure("{}: out of memory", name_);
  context->pb = bridge_.io();
  // Frees the context when it fails.
  const int opened = avformat_open_input(&context, name_.c_str(), nullptr, nullptr);
  if (opened < 0)
    return bridge_.error() ? Status(std::unexpected(*bridge_.error()))
                           : failure("{}: is not a video that FFmpeg can read, or is damaged ({})", name_,
                                     ffmpeg_message(opened));
  container_.reset(context);
  elementary_ = is_elementary_stream(*context);
  if (!elementary_ && avformat_find_stream_info(context, nullptr) < 0) {
    if (bridge_.error()) return std::unexpected(*bridge_.error());
    return failure("{}: its streams cannot be made out; it is damaged or not a video", name_);
  }
  const int index = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0) return failure("{}: has no video stream; give a file with video in it", name_);
  for (unsigned each = 0; each < context->nb_streams; ++each)
    context->streams[each]->discard = static_cast<int>(each) == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  stream_ = context->streams[index];
  return {};
}

Status Demuxer::look_at_start() {
  if (!bridge_.file().is_regular()) return {};
  std::array<std::byte, 64> start{};
  const Result<std::size_t> count = bridge_.file().read(start);
  if (!count) return std::unexpected(count.error());
  expected_size_ = matroska_size({reinterpret_cast<const std::uint8_t*>(start.data()), *count});
  return bridge_.file().seek(0);
}

Demuxer::Read Demuxer::read(AVPacket& packet) {
  do {
    av_packet_unref(&packet);
    const int read = av_read_frame(container_.get(), &packet);
    if (read >= 0) continue;
    if (read != AVERROR_EOF || bridge_.error()) return {Outcome::end, ffmpeg_message(read)};
    if (bridge_.file().size() < expected_size_) return {Outcome::end, "the file ends too early"};
    return {};
  } while (packet.stream_index != stream_->index);
  return {Outcome::packet, damage_of(packet)};
}

std::optional<std::string> Demuxer::damage_of(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) return "the data is incomplete";
  if (stream_->codecpar->codec_id != AV_CODEC_ID_FFV1) return std::nullopt;
  // Whether a stream has checksums shows by the first picture for which they hold.
  const bool hold = ffv1_checksums_hold({packet.data, static_cast<std::size_t>(packet.size)});
  if (hold) has_checksums_ = true;
  if (has_checksums_ && !hold) return "the checksum is wrong";
  return std::nullopt;
}

}  // namespace millrace::video
