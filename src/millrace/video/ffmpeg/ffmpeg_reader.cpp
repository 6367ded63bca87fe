#include "millrace/video/ffmpeg/ffmpeg_reader.h"

#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/frame_converter.h"
#include "millrace/video/ffmpeg/picture_decoder.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/side_data.h"
#include "millrace/video/ffmpeg/unread_content.h"
#include "millrace/video/frame/frame_pool.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

std::string name_of(AVPixelFormat pixels) {
  const char* const name = av_get_pix_fmt_name(pixels);
  return name != nullptr ? name : "an unknown one";
}

class FfmpegReader final : public FrameReader {
 public:
  FfmpegReader(std::unique_ptr<Demuxer> demuxer, const ReaderOptions& options)
      : options_(options), demuxer_(std::move(demuxer)), decoder_(std::in_place, *demuxer_, options) {}

  [[nodiscard]] Status open() {
    if (Status opened = decoder_->open(); !opened) return opened;
    Result<bool> first = decoder_->next();
    if (!first) return std::unexpected(std::move(first.error()));
    if (!*first) return failure("{}: contains no frames; give a file with video in it", name());
    held_ = true;
    return adopt_format();
  }

  [[nodiscard]] const FrameFormat& format() const override { return format_; }

  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override {
    if (demuxer_->stream().nb_frames > 0) return demuxer_->stream().nb_frames;
    const std::int64_t duration = demuxer_->container().duration;
    if (!demuxer_->is_elementary() && duration > 0)
      return av_rescale_q(duration, AV_TIME_BASE_Q, {format_.rate_denominator, format_.rate_numerator});
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> frames_expected() const override {
    if (const auto hint = frame_count_hint()) return hint;
    return demuxer_->packets_expected();
  }

  [[nodiscard]] SharedProperties properties() const override { return properties_; }
  [[nodiscard]] std::vector<std::string> unread() const override { return unread_; }
  [[nodiscard]] Losses losses() const override {
    Losses all = decoder_->losses();
    all.at_start += before_.at_start;
    all.damaged += before_.damaged;
    if (!before_.first_damage.empty()) all.first_damage = before_.first_damage;
    return all;
  }
  void cancel() override { demuxer_->cancel(); }

  [[nodiscard]] bool seek(std::int64_t time) override {
    if (failed_ || !format_.has_timestamps() || !demuxer_->seek(time)) return false;
    before_ = losses();
    decoder_.emplace(*demuxer_, options_);
    if (Status opened = decoder_->open(); !opened) failed_ = opened.error();
    held_ = false;
    return true;
  }

  void complete_side_streams() override { demuxer_->complete_side_streams(); }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    Result<std::optional<Frame>> frame = next_frame();
    if (!frame) failed_ = frame.error();
    return frame;
  }

 private:
  [[nodiscard]] const std::string& name() const { return demuxer_->name(); }

  // A container says it, or probing, which bare streams do without: pictures of H.264 are progressive unless
  // they say that they are not.
  [[nodiscard]] AVFieldOrder field_order_of(const AVStream& stream) const {
    const AVCodecParameters& coded = *stream.codecpar;
    const bool untold = coded.field_order == AV_FIELD_UNKNOWN && demuxer_->is_elementary();
    return untold && coded.codec_id == AV_CODEC_ID_H264 ? AV_FIELD_PROGRESSIVE : coded.field_order;
  }

  // What the first picture says, completed from the container.
  [[nodiscard]] Status adopt_format() {
    AVFrame& picture = decoder_->picture();
    const auto pixels = static_cast<AVPixelFormat>(picture.format);
    const std::optional<PixelMapping> mapping = from_ffmpeg(pixels);
    if (!mapping)
      return failure("{}: its pixel format is not supported; convert it to yuv420p, yuv422p, yuv444p or gray",
                     name());
    if (picture.width > max_dimension || picture.height > max_dimension)
      return failure("{}: {}x{} is too large; {} is the most", name(), picture.width, picture.height,
                     max_dimension);
    format_.width = picture.width;
    format_.height = picture.height;
    format_.chroma = mapping->chroma;
    format_.bits = mapping->bits;
    read_color_tags(picture, *mapping, format_);
    if (options_.samples) format_ = with_samples(format_, *options_.samples);
    AVStream& stream = demuxer_->stream();
    const AVRational rate = av_guess_frame_rate(&demuxer_->container(), &stream, &picture);
    const AVRational coded = decoder_->coded_frame_rate();
    const AVRational best = demuxer_->is_elementary() && coded.num > 0 ? coded : rate;
    if (best.num > 0 && best.den > 0) {
      format_.rate_numerator = best.num;
      format_.rate_denominator = best.den;
    }
    // Bare streams carry no time of their own.
    if (!demuxer_->is_elementary() && stream.time_base.num > 0 && stream.time_base.den > 0) {
      format_.time_base_numerator = stream.time_base.num;
      format_.time_base_denominator = stream.time_base.den;
    }
    const AVRational aspect = av_guess_sample_aspect_ratio(&demuxer_->container(), &stream, &picture);
    if (aspect.num > 0 && aspect.den > 0) {
      format_.aspect_numerator = aspect.num;
      format_.aspect_denominator = aspect.den;
    }
    format_.field_order = read_field_order(picture, field_order_of(stream));
    picture_format_ = format_;
    Properties properties = read_stream_properties(stream, picture);
    Orientation orientation;
    // Fields are rows, and cannot be turned.
    if (const auto asked = orientation_of(properties);
        asked && options_.autorotate && !format_.is_interlaced()) {
      orientation = *asked;
      forget_orientation(properties);
    }
    format_ = oriented(format_, orientation);
    if (!properties.empty()) properties_ = std::make_shared<const Properties>(std::move(properties));
    if (frame_bytes(format_) > options_.max_frame_bytes)
      return failure("{}: a frame of {} takes {} MiB, more than the limit of {} MiB; use a smaller video",
                     name(), to_string(format_), frame_bytes(format_) >> 20, options_.max_frame_bytes >> 20);
    unread_ = unread_content(demuxer_->container(), stream, picture, options_.side_streams != nullptr);
    pixels_ = pixels;
    pool_ = std::make_unique<FramePool>(format_);
    Result<FrameConverter> converter = FrameConverter::make(picture_format_, pixels, orientation);
    if (!converter) return failure("{}: {}", name(), converter.error().message);
    converter_ = *std::move(converter);
    return {};
  }

  [[nodiscard]] Result<std::optional<Frame>> next_frame() {
    if (!held_) {
      const Result<bool> more = decoder_->next();
      if (!more) return std::unexpected(more.error());
      if (!*more) return std::nullopt;
    }
    held_ = false;
    AVFrame& picture = decoder_->picture();
    if (picture.width != picture_format_.width || picture.height != picture_format_.height)
      return failure("{}: frame {}: the picture changes from {}x{} to {}x{}, which is not supported; cut the "
                     "video there, or convert it to one size",
                     name(), index_, picture_format_.width, picture_format_.height, picture.width,
                     picture.height);
    if (static_cast<AVPixelFormat>(picture.format) != pixels_)
      return failure("{}: frame {}: the pixel format changes from {} to {}, which is not supported; cut the "
                     "video there, or convert it to one format",
                     name(), index_, name_of(pixels_), name_of(static_cast<AVPixelFormat>(picture.format)));
    Result<Frame> frame = pool_->acquire();
    if (!frame) return std::unexpected(std::move(frame.error()));
    if (Status converted = converter_.convert(picture, *frame); !converted)
      return failure("{}: {}", name(), converted.error().message);
    if (!within_bit_depth(*frame))
      return failure("{}: frame {}: is damaged: has samples of more than {} bits", name(), index_,
                     format_.bits);
    frame->index = index_++;
    if (format_.has_timestamps() && picture.best_effort_timestamp != AV_NOPTS_VALUE)
      frame->timestamp = picture.best_effort_timestamp;
    frame->properties = read_frame_properties(picture);
    av_frame_unref(&picture);
    return std::optional(*std::move(frame));
  }

  ReaderOptions options_;
  std::unique_ptr<Demuxer> demuxer_;
  std::optional<PictureDecoder> decoder_;
  Losses before_;      // before the last seek
  bool held_ = false;  // a picture is decoded, but not delivered
  FrameFormat format_;
  FrameFormat picture_format_;  // as it is decoded, before it is turned
  SharedProperties properties_;
  std::vector<std::string> unread_;
  AVPixelFormat pixels_ = AV_PIX_FMT_NONE;
  std::unique_ptr<FramePool> pool_;
  FrameConverter converter_;
  std::int64_t index_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameReader>> open_ffmpeg_reader(std::unique_ptr<InputFile> file,
                                                        const ReaderOptions& options) {
  if (Status loaded = hear_ffmpeg(); !loaded) return std::unexpected(std::move(loaded.error()));
  Result<std::unique_ptr<Demuxer>> demuxer = Demuxer::open(std::move(file), options.side_streams);
  if (!demuxer) return std::unexpected(std::move(demuxer.error()));
  auto reader = std::make_unique<FfmpegReader>(*std::move(demuxer), options);
  if (Status opened = reader->open(); !opened) return std::unexpected(std::move(opened.error()));
  return reader;
}

}  // namespace millrace::video
