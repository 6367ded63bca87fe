// Encodes pictures with FFmpeg's libraries.
#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/frame_picture.h"
#include "millrace/video/ffmpeg/linked_backend.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/side_data.h"
#include "millrace/video/ffmpeg/versions.h"

#include <algorithm>
#include <utility>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

// JPEG has full range, for which FFmpeg has separate formats.
AVPixelFormat of_full_range(AVPixelFormat pixels) {
  switch (pixels) {
  case AV_PIX_FMT_YUV420P:
    return AV_PIX_FMT_YUVJ420P;
  case AV_PIX_FMT_YUV422P:
    return AV_PIX_FMT_YUVJ422P;
  case AV_PIX_FMT_YUV444P:
    return AV_PIX_FMT_YUVJ444P;
  default:
    return pixels;
  }
}

class FfmpegPictureEncoder final : public PictureEncoder {
 public:
  FfmpegPictureEncoder(std::string_view name, const FrameFormat& format) : name_(name), format_(format) {}

  [[nodiscard]] Status open(const std::string& encoder, const WriterOptions& options) {
    const AVCodec* const codec = avcodec_find_encoder_by_name(encoder.c_str());
    if (codec == nullptr)
      return usage_error("{}: this build of FFmpeg does not write such pictures; use .png", name_);
    const auto own = to_ffmpeg(format_.chroma, format_.bits);
    AVPixelFormat pixels =
        own ? avcodec_find_best_pix_fmt_of_list(pixel_formats_of(*codec), *own, 0, nullptr) : AV_PIX_FMT_NONE;
    if (!options.pixel_format.empty()) {
      const AVPixelFormat asked = av_get_pix_fmt(options.pixel_format.c_str());
      pixels = avcodec_find_best_pix_fmt_of_list(pixel_formats_of(*codec), asked, 0, nullptr);
    }
    if (codec->id == AV_CODEC_ID_MJPEG && format_.range != ColorRange::full) pixels = of_full_range(pixels);
    if (pixels == AV_PIX_FMT_NONE)
      return usage_error("{}: {} pictures cannot hold {}; choose another --format", name_, codec->name,
                         to_string(format_));
    auto picture = FramePicture::make(format_, pixels);
    if (!picture) return std::unexpected(picture.error());
    picture_ = *std::move(picture);
    encoder_.reset(avcodec_alloc_context3(codec));
    packet_.reset(av_packet_alloc());
    if (!encoder_ || !packet_) return failure("{}: out of memory", name_);
    encoder_->width = format_.width;
    encoder_->height = format_.height;
    encoder_->pix_fmt = pixels;
    encoder_->time_base = {1, 25};
    encoder_->sample_aspect_ratio = {format_.aspect_numerator, format_.aspect_denominator};
    write_color_tags(format_, *encoder_);
    if (const auto mapping = from_ffmpeg(pixels); mapping && (mapping->rgb || mapping->full_range_name))
      encoder_->color_range = AVCOL_RANGE_JPEG;
    encoder_->thread_count = 1;
    encoder_->flags |= AV_CODEC_FLAG_QSCALE;
    encoder_->global_quality = 2 * FF_QP2LAMBDA;  // JPEG quality: visually lossless
    if (const int opened = avcodec_open2(encoder_.get(), codec, nullptr); opened < 0)
      return usage_error("{}: the encoder {} does not take {} ({}); choose another --format", name_,
                         codec->name, to_string(format_), ffmpeg_message(opened));
    return {};
  }

  [[nodiscard]] Result<std::span<const std::byte>> encode(const Frame& frame, std::int64_t number) override {
    const OwnFfmpegCalls own;
    AVFrame* const picture = picture_.of(frame);
    if (picture == nullptr) return failure("{}: out of memory", name_);
    picture->pts = number;
    picture->quality = encoder_->global_quality;
    write_color_tags(*encoder_, *picture);
    if (frame.properties) {
      for (std::string& name : write_frame_properties(*frame.properties, *picture, *encoder_->codec))
        if (std::ranges::find(not_kept_, name) == not_kept_.end()) not_kept_.push_back(std::move(name));
    }
    int done = avcodec_send_frame(encoder_.get(), picture);
    if (done >= 0) done = avcodec_receive_packet(encoder_.get(), packet_.get());
    if (done < 0)
      return failure("{}: frame {}: encoding failed ({})", name_, frame.index, ffmpeg_message(done));
    return std::as_bytes(std::span(packet_->data, static_cast<std::size_t>(packet_->size)));
  }

  [[nodiscard]] const std::vector<std::string>& not_kept() const override { return not_kept_; }

 private:
  std::string name_;
  FrameFormat format_;
  FramePicture picture_;
  FfmpegPtr<AVCodecContext> encoder_;
  FfmpegPtr<AVPacket> packet_;
  std::vector<std::string> not_kept_;
};

}  // namespace

Result<std::unique_ptr<PictureEncoder>>
LinkedBackend::open_picture_encoder(std::string_view name, const std::string& encoder,
                                    const FrameFormat& format, const WriterOptions& options) const {
  const OwnFfmpegCalls own;
  auto opened = std::make_unique<FfmpegPictureEncoder>(name, format);
  if (Status done = opened->open(encoder, options); !done) return std::unexpected(std::move(done.error()));
  return opened;
}

}  // namespace millrace::video
