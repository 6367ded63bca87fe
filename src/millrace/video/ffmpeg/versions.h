// What FFmpeg 5.1 to 9 name or store differently. The only file that asks for FFmpeg's version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
}

namespace millrace::video {

inline bool is_interlaced(const AVFrame& picture) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (picture.flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
  return picture.interlaced_frame != 0;
#endif
}

inline bool is_top_field_first(const AVFrame& picture) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (picture.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
#else
  return picture.top_field_first != 0;
#endif
}

inline void set_fields(AVFrame& picture, bool interlaced, bool top_first) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  picture.flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
  if (interlaced) picture.flags |= AV_FRAME_FLAG_INTERLACED;
  if (top_first) picture.flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  picture.interlaced_frame = interlaced ? 1 : 0;
  picture.top_field_first = top_first ? 1 : 0;
#endif
}

// In units of the stream; 0 or less if unknown.
inline std::int64_t duration_of(const AVFrame& picture) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return picture.duration;
#else
  return picture.pkt_duration;
#endif
}

// The pixel formats that an encoder accepts, ended by AV_PIX_FMT_NONE. Null: any.
inline const AVPixelFormat* pixel_formats_of(const AVCodec& codec) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
  const void* formats = nullptr;
  if (avcodec_get_supported_config(nullptr, &codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, nullptr) < 0)
    return nullptr;
  return static_cast<const AVPixelFormat*>(formats);
#else
  return codec.pix_fmts;
#endif
}

inline std::span<const AVPacketSideData> side_data_of(const AVStream& stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 101)
  return {stream.codecpar->coded_side_data, static_cast<std::size_t>(stream.codecpar->nb_coded_side_data)};
#else
  return {stream.side_data, static_cast<std::size_t>(stream.nb_side_data)};
#endif
}

// The place for side data of a stream; null if memory runs out.
inline std::uint8_t* add_side_data(AVStream& stream, AVPacketSideDataType type, std::size_t size) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 101)
  AVPacketSideData* const added = av_packet_side_data_new(
      &stream.codecpar->coded_side_data, &stream.codecpar->nb_coded_side_data, type, size, 0);
  return added != nullptr ? added->data : nullptr;
#else
  return av_stream_new_side_data(&stream, type, size);
#endif
}

// Numbers a packet, so that the picture decoded from it has the number, too. The decoder must be prepared
// before it is opened.
inline void prepare_numbers([[maybe_unused]] AVCodecContext& decoder) {
#if LIBAVCODEC_VERSION_MAJOR >= 60
  decoder.flags |= AV_CODEC_FLAG_COPY_OPAQUE;
#endif
}

inline int send_numbered(AVCodecContext& decoder, const AVPacket& packet, std::int64_t number) {
#if LIBAVCODEC_VERSION_MAJOR >= 60
  AVPacket numbered = packet;  // refers to the same data; the decoder takes a reference of its own
  numbered.opaque = reinterpret_cast<void*>(static_cast<std::intptr_t>(number));
  return avcodec_send_packet(&decoder, &numbered);
#else
  decoder.reordered_opaque = number;
  return avcodec_send_packet(&decoder, &packet);
#endif
}

inline std::int64_t number_of(const AVFrame& picture) {
#if LIBAVCODEC_VERSION_MAJOR >= 60
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(picture.opaque));
#else
  return picture.reordered_opaque;
#endif
}

// Whether the Matroska muxer stores the decoder's delay for any codec and adds it to the times of packets.
// Before, it stored the delay of Opus only, and whoever wrote packets had to add it.
inline constexpr bool matroska_adds_delay = LIBAVFORMAT_VERSION_MAJOR >= 60;

// The type of the bytes that avio_alloc_context() has written.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WrittenByte = const std::uint8_t;
#else
using WrittenByte = std::uint8_t;
#endif

}  // namespace millrace::video
