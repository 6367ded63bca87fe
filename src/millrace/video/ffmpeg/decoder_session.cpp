#include "millrace/video/ffmpeg/decoder_session.h"

#include "millrace/video/ffmpeg/versions.h"

#include <cstring>

namespace millrace::video {
namespace {

// TIFF's decoder fails for harmless tags too; ffmpeg_messages.cpp tells these from real damage.
bool fails_by_damage_alone(const AVCodecContext& context) { return context.codec_id != AV_CODEC_ID_TIFF; }

}  // namespace

Result<std::unique_ptr<DecoderSession>> DecoderSession::open(Demuxer& demuxer, int threads,
                                                             const std::vector<std::uint8_t>& headers) {
  AVStream& stream = demuxer.stream();
  const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
  if (codec == nullptr)
    return failure("{}: FFmpeg has no decoder for its video ({}); convert it to H.264 or FFV1",
                   demuxer.name(), avcodec_get_name(stream.codecpar->codec_id));
  std::unique_ptr<DecoderSession> session(new DecoderSession);
  session->context_.reset(avcodec_alloc_context3(codec));
  AVCodecContext* context = session->context_.get();
  if (context == nullptr || avcodec_parameters_to_context(context, stream.codecpar) < 0)
    return failure("{}: out of memory", demuxer.name());
  if (context->extradata == nullptr && !headers.empty()) {
    context->extradata =
        static_cast<std::uint8_t*>(av_mallocz(headers.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    if (context->extradata == nullptr) return failure("{}: out of memory", demuxer.name());
    std::memcpy(context->extradata, headers.data(), headers.size());
    context->extradata_size = static_cast<int>(headers.size());
  }
  context->opaque = &session->messages_;
  context->pkt_timebase = stream.time_base;
  // FFmpeg's multithreaded MPEG-4 Part 2 decoder aborts the process if damage counts as an error.
  context->thread_count = codec->id == AV_CODEC_ID_MPEG4 ? 1 : threads;
  // Treat damage as an error. Concealed damage, and references to pictures that the stream lacks, are flagged
  // in the picture.
  context->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
  if (fails_by_damage_alone(*context)) context->err_recognition |= AV_EF_EXPLODE;
  context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  // Raw bitstreams are not probed. There, H.264 must reorder by the limit of its level, not by a guess that
  // grows while frames go missing.
  if (demuxer.is_elementary()) context->strict_std_compliance = FF_COMPLIANCE_STRICT;
  prepare_numbers(*context);
  const int opened = avcodec_open2(context, codec, nullptr);
  if (opened < 0)
    return failure("{}: the decoder {} cannot be opened ({})", demuxer.name(), codec->name,
                   ffmpeg_message(opened));
  return session;
}

int DecoderSession::send(const AVPacket& packet, std::int64_t number, bool lenient) {
  const bool strict = !lenient && fails_by_damage_alone(*context_);
  context_->err_recognition =
      strict ? context_->err_recognition | AV_EF_EXPLODE : context_->err_recognition & ~AV_EF_EXPLODE;
  context_->opaque = messages_.about(number);
  return send_numbered(*context_, packet, number);
}

void DecoderSession::drain() {
  if (draining_) return;
  draining_ = true;
  avcodec_send_packet(context_.get(), nullptr);
}

void DecoderSession::flush() {
  avcodec_flush_buffers(context_.get());
  draining_ = false;
  [[maybe_unused]] const auto old = messages_.take();
}

}  // namespace millrace::video
