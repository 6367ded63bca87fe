#include "millrace/video/ffmpeg/ffmpeg_reader.h"

#include "millrace/video/coded/loop_count.h"
#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/frame_converter.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/side_data.h"
#include "millrace/video/ffmpeg/stored_duration.h"
#include "millrace/video/ffmpeg/tag_changes.h"
#include "millrace/video/ffmpeg/timed_pictures.h"
#include "millrace/video/ffmpeg/unread_content.h"
#include "millrace/video/ffmpeg/versions.h"
#include "millrace/video/frame/frame_fields.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/frame/own_duration.h"
#include "millrace/video/frame/range_change.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
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
  FfmpegReader(std::unique_ptr<Demuxer> demuxer, const ReaderOptions& options,
               const std::optional<EarlierFrames>& earlier)
      : options_(options), earlier_(earlier), demuxer_(std::move(demuxer)),
        decoder_(std::in_place, *demuxer_, options) {}

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
  [[nodiscard]] std::vector<std::string> unread() const override {
    std::vector<std::string> words = unread_;
    std::ranges::copy(changes_.words(), std::back_inserter(words));
    return words;
  }
  [[nodiscard]] Losses losses() const override {
    Losses all = decoder_->losses();
    all.at_start += before_.at_start;
    all.damaged += before_.damaged;
    if (!before_.first_damage.empty()) all.first_damage = before_.first_damage;
    const std::vector<ClockJumps::Jump>& jumps = demuxer_->clock_jumps();
    all.clock_jumps = std::ssize(jumps);
    if (!jumps.empty()) {
      const std::int64_t begin = demuxer_->container().start_time;
      all.first_clock_jump = fmt::format(
          "at {:.3f} s by {:.3f} s",
          static_cast<double>(jumps.front().at - (begin == AV_NOPTS_VALUE ? 0 : begin)) / AV_TIME_BASE,
          static_cast<double>(jumps.front().back) / AV_TIME_BASE);
    }
    return all;
  }
  void cancel() override { demuxer_->cancel(); }

  [[nodiscard]] bool seek(std::int64_t time) override {
    const OwnFfmpegCalls own;
    if (!format_.has_timestamps() || demuxer_->read_error() || !demuxer_->seek(time)) return false;
    failed_.reset();
    before_ = losses();
    decoder_.emplace(*demuxer_, options_);
    if (Status opened = decoder_->open(); !opened) failed_ = opened.error();
    put_in_order();
    held_ = false;
    return true;
  }

  void complete_side_streams() override {
    const OwnFfmpegCalls own;
    demuxer_->complete_side_streams();
  }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    const OwnFfmpegCalls own;
    if (failed_) return std::unexpected(*failed_);
    Result<std::optional<Frame>> frame = next_frame();
    if (!frame) failed_ = frame.error();
    return frame;
  }

 private:
  [[nodiscard]] const std::string& name() const { return demuxer_->name(); }

  // Cover art of a song, which has no frame rate.
  [[nodiscard]] bool is_cover() const {
    return (demuxer_->stream().disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  }

  // The frame's own duration, if it is not one frame duration. Containers round durations, and some state
  // that of a field.
  [[nodiscard]] std::optional<std::int64_t> unusual_duration(const AVFrame& picture) {
    const AVRational unit = demuxer_->stream().time_base;
    if (!format_.has_timestamps() || unit.num <= 0 || unit.den <= 0) return std::nullopt;
    const std::int64_t usual = frame_duration();
    std::int64_t own = duration_of(picture);
    const AVStream& stream = demuxer_->stream();
    if (is_cover()) own = av_rescale_q(demuxer_->container().duration, AV_TIME_BASE_Q, unit);
    const std::int64_t shown = picture.best_effort_timestamp;
    const auto end = stored_end(demuxer_->container(), stream);
    if (end && shown != AV_NOPTS_VALUE && *end > shown && demuxer_->may_have_all_video() &&
        decoder_->is_last()) {
      own = *end - shown;
      // Some programs count the duration of a video that starts late from its start.
      if (own < usual && stream.start_time > 0) return std::nullopt;
    }
    if (own <= 0 || std::abs(own - usual) <= 1 || (format_.is_interlaced() && own < usual))
      return std::nullopt;
    return own;
  }

  // In units of time.
  [[nodiscard]] std::int64_t frame_duration() const {
    return std::max<std::int64_t>(1,
                                  av_rescale_q(1, {format_.rate_denominator, format_.rate_numerator},
                                               {format_.time_base_numerator, format_.time_base_denominator}));
  }

  void put_in_order() {
    if (format_.has_timestamps()) decoder_->put_in_order(frame_duration());
  }

  // The container states it, or probing finds it. Raw bitstreams are not probed: H.264 pictures are
  // progressive unless they say otherwise.
  [[nodiscard]] AVFieldOrder field_order_of(const AVStream& stream) const {
    const AVCodecParameters& coded = *stream.codecpar;
    const bool untold = coded.field_order == AV_FIELD_UNKNOWN && demuxer_->is_elementary();
    return untold && coded.codec_id == AV_CODEC_ID_H264 ? AV_FIELD_PROGRESSIVE : coded.field_order;
  }

  // Derives the format from the first picture, completed from the container.
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
    format_ = with_tags_of(picture, *mapping, format_);
    AVStream& stream = demuxer_->stream();
    const AVRational rate = av_guess_frame_rate(&demuxer_->container(), &stream, &picture);
    const AVRational coded = decoder_->coded_frame_rate();
    const AVRational best = demuxer_->is_elementary() && coded.num > 0 ? coded : rate;
    if (best.num > 0 && best.den > 0 && !is_cover()) {
      format_.rate_numerator = best.num;
      format_.rate_denominator = best.den;
    }
    // Raw bitstreams carry no times.
    if (!demuxer_->is_elementary() && stream.time_base.num > 0 && stream.time_base.den > 0) {
      format_.time_base_numerator = stream.time_base.num;
      format_.time_base_denominator = stream.time_base.den;
    }
    put_in_order();
    picture_format_ = format_;
    Properties properties = read_stream_properties(stream, picture);
    if (const auto times = demuxer_->loop_count()) set_loop_count(properties, *times);
    Orientation orientation;
    // Fields are rows, so interlaced frames cannot be rotated.
    if (const auto asked = orientation_of(properties);
        asked && options_.autorotate && !format_.is_interlaced()) {
      orientation = *asked;
      forget_orientation(properties);
    }
    orientation_ = orientation;
    format_ = oriented(format_, orientation);
    if (earlier_) {
      const FrameFormat own = std::exchange(format_, earlier_->format);
      if (own.width != format_.width || own.height != format_.height || own.chroma != format_.chroma ||
          own.bits != format_.bits)
        return failure("{}: is {}, but the pictures before it are {}; give pictures of one size, and "
                       "--format if their samples differ",
                       name(), to_string(own), to_string(format_));
      index_ = earlier_->count;
    }
    if (!properties.empty()) properties_ = std::make_shared<const Properties>(std::move(properties));
    if (frame_bytes(format_) > options_.max_frame_bytes)
      return failure("{}: a frame of {} takes {} MiB, more than the limit of {} MiB; use a smaller video",
                     name(), to_string(format_), frame_bytes(format_) >> 20, options_.max_frame_bytes >> 20);
    unread_ = unread_content(demuxer_->container(), stream, picture, options_.side_streams != nullptr);
    pool_ = std::make_unique<FramePool>(format_);
    return convert_from(pixels, with_tags_of(picture, *mapping, picture_format_));
  }

  // `like` with the picture's own samples, colours, aspect ratio and fields, and the same timing. RGB gets
  // the samples asked for.
  [[nodiscard]] FrameFormat with_tags_of(const AVFrame& picture, const PixelMapping& mapping,
                                         const FrameFormat& like) const {
    FrameFormat format = like;
    format.width = picture.width;
    format.height = picture.height;
    format.chroma = mapping.chroma;
    format.bits = mapping.bits;
    format.chroma_location = 0;
    read_color_tags(picture, mapping, format);
    if (options_.samples) format = with_samples(format, *options_.samples);
    AVStream& stream = demuxer_->stream();
    const AVRational aspect =
        av_guess_sample_aspect_ratio(&demuxer_->container(), &stream, const_cast<AVFrame*>(&picture));
    const bool known = aspect.num > 0 && aspect.den > 0;
    format.aspect_numerator = known ? aspect.num : 0;
    format.aspect_denominator = known ? aspect.den : 1;
    format.field_order = read_field_order(picture, field_order_of(stream));
    return format;
  }

  // Sets up the conversion from pictures of these pixels and tags to the format of the frames.
  [[nodiscard]] Status convert_from(AVPixelFormat pixels, const FrameFormat& now) {
    const bool rgb = from_ffmpeg(pixels)->rgb;
    FrameFormat to = picture_format_;
    to.range = rgb ? format_.range : now.range;
    to.color_matrix = format_.color_matrix;
    Result<FrameConverter> converter = FrameConverter::make(to, pixels, orientation_);
    if (!converter) return failure("{}: {}", name(), converter.error().message);
    converter_ = *std::move(converter);
    range_change_.reset();
    if (!rgb && are_other_codes(now.range, format_.range)) range_change_.emplace(format_.bits, format_.range);
    pixels_ = pixels;
    pixels_range_ = now.range;
    return {};
  }

  // Handles tags of a picture that differ from the video's: refuses, converts or reports them.
  [[nodiscard]] Status heed_changes(const AVFrame& picture, Frame& frame) {
    const auto pixels = static_cast<AVPixelFormat>(picture.format);
    const auto mapping = from_ffmpeg(pixels);
    FrameFormat now = mapping ? with_tags_of(picture, *mapping, picture_format_) : FrameFormat{};
    if (!mapping || now.chroma != picture_format_.chroma || now.bits != picture_format_.bits)
      return failure("{}: frame {}: the pixel format changes from {} to {}, which one output cannot hold; "
                     "give a --format that both are "
                     "converted to, or cut the video there",
                     name(), index_, name_of(pixels_), name_of(pixels));
    if (pixels != pixels_ || are_other_codes(now.range, pixels_range_)) {
      if (Status made = convert_from(pixels, now); !made) return made;
    }
    now = oriented(now, orientation_);
    if (mapping->rgb) now.range = format_.range;
    if (mapping->rgb || mapping->chroma == Chroma::gray) now.color_matrix = format_.color_matrix;
    changes_.note(index_, now, format_);
    frame.properties = read_frame_properties(picture);
    if (now.is_interlaced() && now.field_order != format_.field_order)
      frame.properties = with_fields(frame.properties, now.field_order);
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
    Result<Frame> frame = pool_->acquire();
    if (!frame) return std::unexpected(std::move(frame.error()));
    if (Status heeded = heed_changes(picture, *frame); !heeded)
      return std::unexpected(std::move(heeded.error()));
    if (Status converted = converter_.convert(picture, *frame); !converted)
      return failure("{}: {}", name(), converted.error().message);
    if (range_change_) range_change_->apply(*frame);
    if (!within_bit_depth(*frame))
      return failure("{}: frame {}: is damaged: has samples of more than {} bits", name(), index_,
                     format_.bits);
    frame->index = index_++;
    if (format_.has_timestamps() && picture.best_effort_timestamp != AV_NOPTS_VALUE)
      frame->timestamp = picture.best_effort_timestamp;
    if (const auto own = unusual_duration(picture)) set_own_duration(*frame, *own);
    av_frame_unref(&picture);
    return std::optional(*std::move(frame));
  }

  ReaderOptions options_;
  std::optional<EarlierFrames> earlier_;
  std::unique_ptr<Demuxer> demuxer_;
  std::optional<TimedPictures> decoder_;
  Losses before_;      // up to the last seek
  bool held_ = false;  // a picture is decoded but not delivered
  FrameFormat format_;
  FrameFormat picture_format_;  // of decoded pictures, before rotation
  SharedProperties properties_;
  std::vector<std::string> unread_;
  TagChanges changes_;
  Orientation orientation_;
  AVPixelFormat pixels_ = AV_PIX_FMT_NONE;             // source of the conversion
  ColorRange pixels_range_ = ColorRange::unspecified;  // range that the pictures state
  std::optional<RangeChange> range_change_;            // none: pictures have the range of the frames
  std::unique_ptr<FramePool> pool_;
  FrameConverter converter_;
  std::int64_t index_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameReader>> open_ffmpeg_reader(std::unique_ptr<InputFile> file,
                                                        const ReaderOptions& options,
                                                        const std::optional<EarlierFrames>& earlier) {
  Result<std::unique_ptr<Demuxer>> demuxer = Demuxer::open(std::move(file), options.side_streams);
  if (!demuxer) return std::unexpected(std::move(demuxer.error()));
  auto reader = std::make_unique<FfmpegReader>(*std::move(demuxer), options, earlier);
  if (Status opened = reader->open(); !opened) return std::unexpected(std::move(opened.error()));
  return reader;
}

}  // namespace millrace::video
