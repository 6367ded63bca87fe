#include "millrace/video/ffmpeg/hidden_samples.h"

#include "millrace/base/numbers/little_endian.h"

#include <cstddef>
#include <cstring>
#include <span>

namespace millrace::video {

bool stands_alone(AVCodecID codec) { return codec == AV_CODEC_ID_ALAC || codec == AV_CODEC_ID_FLAC; }

std::optional<std::int64_t> decoded_samples(const AVCodecParameters& codec, const AVPacket& packet) {
  const AVCodec* const decoder = avcodec_find_decoder(codec.codec_id);
  if (decoder == nullptr) return std::nullopt;
  const FfmpegPtr<AVCodecContext> context(avcodec_alloc_context3(decoder));
  const FfmpegPtr<AVFrame> frame(av_frame_alloc());
  // Without side data, of which some makes a decoder leave samples out.
  const FfmpegPtr<AVPacket> bare(av_packet_alloc());
  if (!context || !frame || !bare || avcodec_parameters_to_context(context.get(), &codec) < 0 ||
      av_new_packet(bare.get(), packet.size) < 0)
    return std::nullopt;
  std::memcpy(bare->data, packet.data, static_cast<std::size_t>(packet.size));
  context->thread_count = 1;
  if (avcodec_open2(context.get(), decoder, nullptr) < 0 ||
      avcodec_send_packet(context.get(), bare.get()) < 0 ||
      avcodec_receive_frame(context.get(), frame.get()) < 0)
    return std::nullopt;
  return frame->nb_samples;
}

// Four bytes each, then the reasons, which are of no use here.
HiddenSamples hidden_samples(const AVPacket& packet) {
  std::size_t size = 0;
  const std::uint8_t* const data = av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &size);
  if (data == nullptr || size < 8) return {};
  const auto bytes = std::as_bytes(std::span(data, size));
  return {.at_start = get_little_endian<std::uint32_t>(bytes, 0),
          .at_end = get_little_endian<std::uint32_t>(bytes, 4)};
}

bool hide_samples(AVPacket& packet, const HiddenSamples& hidden) {
  constexpr std::size_t size = 10;
  std::uint8_t* const data = av_packet_new_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, size);
  if (data == nullptr) return false;
  std::memset(data, 0, size);
  const auto bytes = std::as_writable_bytes(std::span(data, size));
  put_little_endian(bytes, 0, static_cast<std::uint32_t>(hidden.at_start));
  put_little_endian(bytes, 4, static_cast<std::uint32_t>(hidden.at_end));
  return true;
}

}  // namespace millrace::video
