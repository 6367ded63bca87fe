#include "millrace/video/ffmpeg/ffmpeg_writer.h"

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <algorithm>
#include <limits>
#include <optional>

extern "C" {
#include <libavutil/opt.h>
}

namespace millrace::video {
namespace {

constexpr int io_buffer_bytes = 64 << 10;

// Takes what FFmpeg writes into an OutputFile, and keeps the first error.
class OutputBridge {
 public:
  explicit OutputBridge(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {
    auto* buffer = static_cast<unsigned char*>(av_malloc(io_buffer_bytes));
    io_.reset(avio_alloc_context(buffer, io_buffer_bytes, 1, this, nullptr, &write,
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

// Ticks of the time base for one frame: fine enough for the timestamps of videos with a variable rate, and an
// exact multiple of the frame duration for those with a constant one.
int ticks_per_frame(const FrameFormat& format) {
  return std::clamp(std::numeric_limits<int>::max() / format.rate_numerator, 1, 1000);
}

class FfmpegWriter final : public FrameWriter {
 public:
  FfmpegWriter(std::unique_ptr<OutputFile> file, const FrameFormat& format)
      : bridge_(std::make_unique<OutputBridge>(std::move(file))), format_(format),
        ticks_(ticks_per_frame(format)) {}

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
    encoder_->time_base = {format_.rate_denominator, format_.rate_numerator * ticks_};
    encoder_->sample_aspect_ratio = {format_.aspect_numerator, format_.aspect_denominator};
    encoder_->color_range = format_.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    encoder_->color_primaries = static_cast<AVColorPrimaries>(format_.color_primaries);
    encoder_->color_trc = static_cast<AVColorTransferCharacteristic>(format_.color_transfer);
    encoder_->colorspace = static_cast<AVColorSpace>(format_.color_matrix);
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
    picture_->pts = next_pts(frame);
    // Not reference-counted, so the encoder copies what it keeps.
    const int sent = avcodec_send_frame(encoder_.get(), picture_.get());
    av_frame_unref(picture_.get());
    if (sent < 0)
      return failure("{}: frame {}: encoding failed ({})", name(), frame.index, ffmpeg_message(sent));
    return mux_packets();
  }

  [[nodiscard]] std::int64_t next_pts(const Frame& frame) {
    const std::int64_t expected = last_pts_ ? *last_pts_ + ticks_ : 0;
    std::int64_t pts = expected;
    if (frame.timestamp_ns >= 0) {
      const std::int64_t own = av_rescale_q(frame.timestamp_ns, {1, 1'000'000'000}, encoder_->time_base);
      if (!last_pts_ || own > *last_pts_) pts = own;
    }
    last_pts_ = pts;
    return pts;
  }

  [[nodiscard]] Status mux_packets() {
    for (;;) {
      const int received = avcodec_receive_packet(encoder_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return {};
      if (received < 0) return failure("{}: encoding failed ({})", name(), ffmpeg_message(received));
      packet_->stream_index = stream_->index;
      packet_->duration = ticks_;
      av_packet_rescale_ts(packet_.get(), encoder_->time_base, stream_->time_base);
      if (Status muxed = check(av_interleaved_write_frame(muxer_.get(), packet_.get())); !muxed) return muxed;
    }
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
  int ticks_;
  MuxerPtr muxer_;
  AVStream* stream_ = nullptr;
  FfmpegPtr<AVCodecContext> encoder_;
  FfmpegPtr<AVPacket> packet_;
  FfmpegPtr<AVFrame> picture_;
  std::optional<std::int64_t> last_pts_;
  std::int64_t frames_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                        const FrameFormat& format,
                                                        const EncoderChoice& choice,
                                                        const WriterOptions& options) {
  silence_ffmpeg();
  auto writer = std::make_unique<FfmpegWriter>(std::move(file), format);
  if (Status opened = writer->open(choice, options); !opened)
    return std::unexpected(std::move(opened.error()));
  return writer;
}

}  // namespace millrace::video
