#include "millrace/video/ffmpeg/ffmpeg_writer.h"

#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/frame/presentation_clock.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

extern "C" {
#include <libavutil/opt.h>
}

namespace millrace::video {
namespace {

constexpr int output_buffer_bytes = 64 << 10;

// Takes what FFmpeg writes into an OutputFile, and keeps the first error.
class OutputBridge {
 public:
  explicit OutputBridge(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {
    auto* buffer = static_cast<unsigned char*>(av_malloc(output_buffer_bytes));
    io_.reset(avio_alloc_context(buffer, output_buffer_bytes, 1, this, nullptr, &write,
                                 file_->is_regular() ? &seek : nullptr));
  }

  [[nodiscard]] AVIOContext* io() { return io_.get(); }
  [[nodiscard]] OutputFile& file() { return *file_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  static int write(void* opaque, std::uint8_t* bytes, int size) {
    auto& self = *static_cast<OutputBridge*>(opaque);
    const Status written =
        self.file_->write({reinterpret_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
    if (written) {
      self.end_ = std::max(self.end_, self.file_->position());
      return size;
    }
    if (!self.error_) self.error_ = written.error();
    return AVERROR(EIO);
  }

  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    auto& self = *static_cast<OutputBridge*>(opaque);
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return static_cast<std::int64_t>(self.end_);
    case SEEK_SET:
      break;
    case SEEK_CUR:
      offset += static_cast<std::int64_t>(self.file_->position());
      break;
    case SEEK_END:
      offset += static_cast<std::int64_t>(self.end_);
      break;
    default:
      return AVERROR(EINVAL);
    }
    if (offset < 0 || !self.file_->seek(static_cast<std::uint64_t>(offset))) return AVERROR(EINVAL);
    return offset;
  }

  std::unique_ptr<OutputFile> file_;
  std::uint64_t end_ = 0;
  std::optional<Error> error_;
  FfmpegPtr<AVIOContext> io_;
};

// The time base that the encoder and the container are asked for: that of the timestamps, so that they stay
// what they are. But .mp4 has few bits for the time between two frames, which units of a microsecond would
// soon use up.
AVRational time_base_for(Container container, const FrameFormat& format) {
  if (!format.has_timestamps()) return {format.rate_denominator, format.rate_numerator};
  const AVRational own{format.time_base_numerator, format.time_base_denominator};
  const bool too_fine = own.den / own.num >= 1'000'000;
  return container == Container::mp4 && too_fine ? AVRational{1, 100'000} : own;
}

class FfmpegWriter final : public FrameWriter {
 public:
  FfmpegWriter(std::unique_ptr<OutputFile> file, const FrameFormat& format, Container container)
      : bridge_(std::make_unique<OutputBridge>(std::move(file))), format_(format), container_(container),
        time_base_(time_base_for(container, format)), clock_(format) {}

  [[nodiscard]] Status open(const EncoderChoice& choice, const WriterOptions& options) {
    if (choice.container == Container::mp4 && !bridge_->file().is_regular())
      return usage_error("{}: .mp4 cannot be written to a pipe or device; use .mkv or .y4m", name());
    AVFormatContext* context = nullptr;
    avformat_alloc_output_context2(&context, nullptr, choice.container == Container::mp4 ? "mp4" : "matroska",
                                   nullptr);
    muxer_.reset(context);
    packet_.reset(av_packet_alloc());
    picture_.reset(av_frame_alloc());
    if (!muxer_ || !packet_ || !picture_ || bridge_->io() == nullptr)
      return failure("{}: out of memory", name());
    muxer_->pb = bridge_->io();
    if (Status opened = open_encoder(choice, options); !opened) return opened;

    stream_ = avformat_new_stream(muxer_.get(), nullptr);
    if (stream_ == nullptr || avcodec_parameters_from_context(stream_->codecpar, encoder_.get()) < 0)
      return failure("{}: out of memory", name());
    stream_->time_base = encoder_->time_base;
    stream_->avg_frame_rate = encoder_->framerate;
    stream_->sample_aspect_ratio = encoder_->sample_aspect_ratio;
    if (choice.container == Container::mp4) {
      // A video that does not begin at 0 has an edit that waits for it, in units of the whole film's time
      // scale.
      av_opt_set_int(muxer_->priv_data, "movie_timescale", time_base_.den, 0);
      // Asked to write tags that are not known, FFmpeg guesses them by the size.
      if (!has_color_description(format_)) av_opt_set(muxer_->priv_data, "movflags", "-write_colr", 0);
    } else {
      // Matroska stores when a frame is shown, not when it is decoded, which may be before 0.
      muxer_->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
    }
    return check(avformat_write_header(muxer_.get(), nullptr));
  }

  [[nodiscard]] Status write(const Frame& frame) override {
    if (failed_) return std::unexpected(*failed_);
    if (frame.format() != format_)
      return failure("{}: frame {} is {}, not {}", name(), frame.index, to_string(frame.format()),
                     to_string(format_));
    Status written = encode(frame);
    if (written)
      ++frames_;
    else
      failed_ = written.error();
    return written;
  }

  [[nodiscard]] Status finish() override {
    // After a write that failed the container's index can still be written if there is room for it.
    Status drained = failed_ ? Status{} : drain();
    Status ended = check(av_write_trailer(muxer_.get()));
    avio_flush(bridge_->io());
    if (!drained) return drained;
    if (!ended) return ended;
    if (bridge_->error()) return std::unexpected(*bridge_->error());
    return bridge_->file().commit();
  }

  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  void cancel() override { bridge_->file().cancel(); }

 private:
  [[nodiscard]] const std::string& name() const { return bridge_->file().name(); }

  [[nodiscard]] Status open_encoder(const EncoderChoice& choice, const WriterOptions& options) {
    const AVCodec* codec = avcodec_find_encoder_by_name(choice.encoder.c_str());
    encoder_.reset(avcodec_alloc_context3(codec));
    if (!encoder_) return failure("{}: out of memory", name());
    encoder_->width = format_.width;
    encoder_->height = format_.height;
    encoder_->pix_fmt = static_cast<AVPixelFormat>(choice.pixel_format);
    encoder_->bits_per_raw_sample = format_.bits;
    encoder_->framerate = {format_.rate_numerator, format_.rate_denominator};
    encoder_->time_base = time_base_;
    encoder_->sample_aspect_ratio = {format_.aspect_numerator, format_.aspect_denominator};
    duration_ = std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(encoder_->framerate), time_base_));
    write_color_tags(format_, *encoder_);
    encoder_->thread_count = options.encoder_threads;
    if ((muxer_->oformat->flags & AVFMT_GLOBALHEADER) != 0) encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (choice.encoder == "ffv1") {
      encoder_->level = 3;     // the version with checksums, so that damage is found when read
      encoder_->gop_size = 1;  // each frame on its own: cut and sought anywhere
      encoder_->slices = choice.slices;
      av_opt_set_int(encoder_.get(), "slicecrc", 1, AV_OPT_SEARCH_CHILDREN);
    } else {
      av_opt_set_int(encoder_.get(), "crf", options.crf, AV_OPT_SEARCH_CHILDREN);
      av_opt_set(encoder_.get(), "preset", options.preset.c_str(), AV_OPT_SEARCH_CHILDREN);
    }
    const int opened = avcodec_open2(encoder_.get(), codec, nullptr);
    if (opened < 0)
      return usage_error(
          "{}: the encoder {} does not take {} with these options ({}); use .y4m, or other options", name(),
          choice.encoder, to_string(format_), ffmpeg_message(opened));
    return {};
  }

  [[nodiscard]] Status encode(const Frame& frame) {
    picture_->format = encoder_->pix_fmt;
    picture_->width = format_.width;
    picture_->height = format_.height;
    picture_->color_range = encoder_->color_range;
    for (int index = 0; index < frame.planes(); ++index) {
      const PlaneView plane = frame.plane(index);
      picture_->data[index] = plane.row<std::uint8_t>(0);
      picture_->linesize[index] = static_cast<int>(plane.stride);
    }
    const std::int64_t shown = clock_.next(frame);
    picture_->pts =
        av_rescale_q(shown, {clock_.time_base_numerator(), clock_.time_base_denominator()}, time_base_);
    if (last_pts_ && picture_->pts <= *last_pts_) picture_->pts = *last_pts_ + 1;
    if (!last_pts_) first_pts_ = picture_->pts;
    last_pts_ = picture_->pts;
    // Not reference-counted, so the encoder copies what it keeps.
    const int sent = avcodec_send_frame(encoder_.get(), picture_.get());
    av_frame_unref(picture_.get());
    if (sent < 0)
      return failure("{}: frame {}: encoding failed ({})", name(), frame.index, ffmpeg_message(sent));
    return mux_packets();
  }

  [[nodiscard]] Status mux_packets() {
    for (;;) {
      const int received = avcodec_receive_packet(encoder_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return {};
      if (received < 0) return failure("{}: encoding failed ({})", name(), ffmpeg_message(received));
      packet_->stream_index = stream_->index;
      packet_->duration = duration_;
      // Encoders that reorder begin as long before 0 as the first frames last, which in videos of variable
      // rate can be hours that no container takes.
      if (const int delay = encoder_->has_b_frames; packets_ < delay)
        packet_->dts = first_pts_ - (delay - packets_) * duration_;
      ++packets_;
      av_packet_rescale_ts(packet_.get(), encoder_->time_base, stream_->time_base);
      if (Status fits = check_gap(*packet_); !fits) return fits;
      if (Status muxed = check(av_interleaved_write_frame(muxer_.get(), packet_.get())); !muxed) return muxed;
    }
  }

  // Where .mp4 has no room for a time FFmpeg writes another, and reads none from half of that room on.
  [[nodiscard]] Status check_gap(const AVPacket& packet) {
    const std::int64_t before = std::exchange(last_dts_, packet.dts).value_or(packet.dts);
    if (container_ != Container::mp4) return {};
    constexpr std::int64_t between_packets = std::numeric_limits<int>::max();
    constexpr std::int64_t from_decoded_to_shown = std::int64_t{1} << 28;
    if (packet.dts - before < between_packets && packet.pts - packet.dts < from_decoded_to_shown) return {};
    const std::int64_t gap = std::max(packet.dts - before, packet.pts - packet.dts);
    return failure("{}: .mp4 cannot hold the gap of {:.0f} seconds before the frame at {:.0f} s; use .mkv",
                   name(), static_cast<double>(gap) * av_q2d(stream_->time_base),
                   static_cast<double>(packet.pts) * av_q2d(stream_->time_base));
  }

  [[nodiscard]] Status drain() {
    const int sent = avcodec_send_frame(encoder_.get(), nullptr);
    if (sent < 0) return failure("{}: encoding failed at its end ({})", name(), ffmpeg_message(sent));
    return mux_packets();
  }

  // The muxer does not always pass on that a write failed.
  [[nodiscard]] Status check(int code) const {
    if (bridge_->error()) return std::unexpected(*bridge_->error());
    if (code < 0) return failure("{}: writing failed ({})", name(), ffmpeg_message(code));
    return {};
  }

  std::unique_ptr<OutputBridge> bridge_;  // behind the muxer, which writes to it
  FrameFormat format_;
  Container container_;
  AVRational time_base_;
  PresentationClock clock_;
  MuxerPtr muxer_;
  AVStream* stream_ = nullptr;
  FfmpegPtr<AVCodecContext> encoder_;
  FfmpegPtr<AVPacket> packet_;
  FfmpegPtr<AVFrame> picture_;
  std::int64_t duration_ = 1;  // of a frame at the frame rate, in the encoder's time base
  std::int64_t packets_ = 0;
  std::int64_t first_pts_ = 0;            // given to the encoder, in its time base
  std::optional<std::int64_t> last_pts_;  // given to the encoder, in its time base
  std::optional<std::int64_t> last_dts_;  // given to the muxer, in the stream's
  std::int64_t frames_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                        const FrameFormat& format,
                                                        const EncoderChoice& choice,
                                                        const WriterOptions& options) {
  hear_ffmpeg();
  auto writer = std::make_unique<FfmpegWriter>(std::move(file), format, choice.container);
  if (Status opened = writer->open(choice, options); !opened)
    return std::unexpected(std::move(opened.error()));
  return writer;
}

}  // namespace millrace::video
