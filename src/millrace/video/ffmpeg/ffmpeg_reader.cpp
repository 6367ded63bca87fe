#include "millrace/video/ffmpeg/ffmpeg_reader.h"

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffv1_checksum.h"
#include "millrace/video/ffmpeg/frame_converter.h"
#include "millrace/video/ffmpeg/matroska_size.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/frame/frame_pool.h"

#include <algorithm>
#include <array>
#include <string>

namespace millrace::video {
namespace {

constexpr int io_buffer_bytes = 64 << 10;

// Feeds FFmpeg from an InputFile, so that waits can be cancelled and read errors told from damage.
class InputBridge {
 public:
  explicit InputBridge(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
    auto* buffer = static_cast<unsigned char*>(av_malloc(io_buffer_bytes));
    io_.reset(avio_alloc_context(buffer, io_buffer_bytes, 0, this, &read, nullptr,
                                 file_->is_regular() ? &seek : nullptr));
  }

  [[nodiscard]] AVIOContext* io() { return io_.get(); }
  [[nodiscard]] InputFile& file() { return *file_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  static int read(void* opaque, std::uint8_t* buffer, int size) {
    auto& self = *static_cast<InputBridge*>(opaque);
    const auto count =
        self.file_->read({reinterpret_cast<std::byte*>(buffer), static_cast<std::size_t>(size)});
    if (!count) {
      self.error_ = count.error();
      return AVERROR(EIO);
    }
    return *count == 0 ? AVERROR_EOF : static_cast<int>(*count);
  }

  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    InputFile& file = *static_cast<InputBridge*>(opaque)->file_;
    const auto size = static_cast<std::int64_t>(file.size().value_or(0));
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return size;
    case SEEK_SET:
      break;
    case SEEK_CUR:
      offset += static_cast<std::int64_t>(file.position());
      break;
    case SEEK_END:
      offset += size;
      break;
    default:
      return AVERROR(EINVAL);
    }
    if (offset < 0 || !file.seek(static_cast<std::uint64_t>(offset))) return AVERROR(EINVAL);
    return offset;
  }

  std::unique_ptr<InputFile> file_;
  std::optional<Error> error_;
  FfmpegPtr<AVIOContext> io_;
};

// A demuxer of bare H.264, HEVC and the like knows its one stream without looking into it. Probing would
// decode some twenty frames and throw them away.
bool is_elementary_stream(const AVFormatContext& format) {
  return format.nb_streams == 1 && (format.iformat->flags & AVFMT_NOTIMESTAMPS) != 0 &&
         (format.streams[0]->codecpar->codec_id == AV_CODEC_ID_H264 ||
          format.streams[0]->codecpar->codec_id == AV_CODEC_ID_HEVC);
}

class FfmpegReader final : public FrameReader {
 public:
  FfmpegReader(std::unique_ptr<InputFile> file, const ReaderOptions& options)
      : name_(file->name()), options_(options), bridge_(std::make_unique<InputBridge>(std::move(file))) {}

  [[nodiscard]] Status open() {
    if (Status opened = open_container(); !opened) return opened;
    if (Status opened = open_decoder(); !opened) return opened;
    Result<bool> first = decode();
    if (!first) return std::unexpected(std::move(first.error()));
    if (!*first) return failure("{}: contains no frames; give a file with video in it", name_);
    held_ = true;
    return adopt_format();
  }

  [[nodiscard]] const FrameFormat& format() const override { return format_; }

  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override {
    if (stream_->nb_frames > 0) return stream_->nb_frames;
    if (!elementary_ && container_->duration > 0)
      return av_rescale_q(container_->duration, AV_TIME_BASE_Q,
                          {format_.rate_denominator, format_.rate_numerator});
    return std::nullopt;
  }

  void cancel() override { bridge_->file().cancel(); }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    Result<std::optional<Frame>> frame = next_frame();
    if (!frame) failed_ = frame.error();
    return frame;
  }

 private:
  [[nodiscard]] Status open_container() {
    if (bridge_->io() == nullptr) return failure("{}: out of memory", name_);
    if (Status looked = look_at_start(); !looked) return looked;
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr) return failure("{}: out of memory", name_);
    context->pb = bridge_->io();
    // Frees the context when it fails.
    const int opened = avformat_open_input(&context, name_.c_str(), nullptr, nullptr);
    if (opened < 0)
      return bridge_->error() ? Status(std::unexpected(*bridge_->error()))
                              : failure("{}: is not a video that FFmpeg can read, or is damaged ({})", name_,
                                        ffmpeg_message(opened));
    container_.reset(context);
    elementary_ = is_elementary_stream(*context);
    if (!elementary_ && avformat_find_stream_info(context, nullptr) < 0) {
      if (bridge_->error()) return std::unexpected(*bridge_->error());
      return failure("{}: its streams cannot be made out; it is damaged or not a video", name_);
    }
    const int index = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    if (index < 0) return failure("{}: has no video stream; give a file with video in it", name_);
    for (unsigned each = 0; each < context->nb_streams; ++each)
      context->streams[each]->discard = static_cast<int>(each) == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    stream_ = context->streams[index];
    return {};
  }

  [[nodiscard]] Status look_at_start() {
    if (!bridge_->file().is_regular()) return {};
    std::array<std::byte, 64> start{};
    const Result<std::size_t> count = bridge_->file().read(start);
    if (!count) return std::unexpected(count.error());
    expected_size_ = matroska_size({reinterpret_cast<const std::uint8_t*>(start.data()), *count});
    return bridge_->file().seek(0);
  }

  [[nodiscard]] Status open_decoder() {
    const AVCodec* codec = avcodec_find_decoder(stream_->codecpar->codec_id);
    if (codec == nullptr)
      return failure("{}: FFmpeg has no decoder for its video ({}); convert it to H.264 or FFV1", name_,
                     avcodec_get_name(stream_->codecpar->codec_id));
    decoder_.reset(avcodec_alloc_context3(codec));
    packet_.reset(av_packet_alloc());
    picture_.reset(av_frame_alloc());
    if (!decoder_ || !packet_ || !picture_ ||
        avcodec_parameters_to_context(decoder_.get(), stream_->codecpar) < 0)
      return failure("{}: out of memory", name_);
    decoder_->pkt_timebase = stream_->time_base;
    decoder_->thread_count = options_.decoder_threads;
    // Damage is an error. What is concealed all the same is flagged in the picture.
    decoder_->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
    decoder_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
    // Unprobed, H.264 must reorder by what its level allows, not by a guess that grows while frames go
    // missing.
    if (elementary_) decoder_->strict_std_compliance = FF_COMPLIANCE_STRICT;
    const int opened = avcodec_open2(decoder_.get(), codec, nullptr);
    if (opened < 0)
      return failure("{}: the decoder {} cannot be opened ({})", name_, codec->name, ffmpeg_message(opened));
    return {};
  }

  // What the first picture says, completed from the container.
  [[nodiscard]] Status adopt_format() {
    const auto pixels = static_cast<AVPixelFormat>(picture_->format);
    const std::optional<PixelMapping> mapping = from_ffmpeg(pixels);
    if (!mapping)
      return failure("{}: its pixel format is not supported; convert it to yuv420p, yuv422p, yuv444p or gray",
                     name_);
    if (picture_->width > max_dimension || picture_->height > max_dimension)
      return failure("{}: {}x{} is too large; {} is the most", name_, picture_->width, picture_->height,
                     max_dimension);
    format_.width = picture_->width;
    format_.height = picture_->height;
    format_.chroma = mapping->chroma;
    format_.bits = mapping->bits;
    format_.full_range = mapping->full_range_name || picture_->color_range == AVCOL_RANGE_JPEG;
    if (mapping->same_planes) {
      format_.color_primaries = picture_->color_primaries;
      format_.color_transfer = picture_->color_trc;
      format_.color_matrix = picture_->colorspace;
    }
    const AVRational rate = av_guess_frame_rate(container_.get(), stream_, picture_.get());
    const AVRational coded = decoder_->framerate;
    const AVRational best = elementary_ && coded.num > 0 ? coded : rate;
    if (best.num > 0 && best.den > 0) {
      format_.rate_numerator = best.num;
      format_.rate_denominator = best.den;
    }
    const AVRational aspect = av_guess_sample_aspect_ratio(container_.get(), stream_, picture_.get());
    if (aspect.num > 0 && aspect.den > 0) {
      format_.aspect_numerator = aspect.num;
      format_.aspect_denominator = aspect.den;
    }
    if (frame_bytes(format_) > options_.max_frame_bytes)
      return failure("{}: a frame of {} takes {} MiB, more than the limit of {} MiB; use a smaller video",
                     name_, to_string(format_), frame_bytes(format_) >> 20, options_.max_frame_bytes >> 20);
    pixels_ = pixels;
    pool_ = std::make_unique<FramePool>(format_);
    Result<FrameConverter> converter = FrameConverter::make(format_, pixels);
    if (!converter) return failure("{}: {}", name_, converter.error().message);
    converter_ = *std::move(converter);
    return {};
  }

  [[nodiscard]] Result<std::optional<Frame>> next_frame() {
    if (!held_) {
      const Result<bool> more = decode();
      if (!more) return std::unexpected(more.error());
      if (!*more) return std::nullopt;
    }
    held_ = false;
    if (picture_->width != format_.width || picture_->height != format_.height ||
        static_cast<AVPixelFormat>(picture_->format) != pixels_)
      return failure(
          "{}: frame {}: the picture changes to {}x{} from {}x{} or to another pixel format, which is "
          "not supported; cut the video there, or convert it to one size",
          name_, index_, picture_->width, picture_->height, format_.width, format_.height);
    Result<Frame> frame = pool_->acquire();
    if (!frame) return std::unexpected(std::move(frame.error()));
    converter_.convert(*picture_, *frame);
    if (!within_bit_depth(*frame))
      return failure("{}: frame {}: is damaged: has samples of more than {} bits", name_, index_,
                     format_.bits);
    frame->index = index_++;
    frame->timestamp_ns = timestamp();
    av_frame_unref(picture_.get());
    return std::optional(*std::move(frame));
  }

  // Bare streams carry no time of their own.
  [[nodiscard]] std::int64_t timestamp() {
    if (elementary_ || picture_->best_effort_timestamp == AV_NOPTS_VALUE) return -1;
    if (!first_timestamp_) first_timestamp_ = picture_->best_effort_timestamp;
    return std::max<std::int64_t>(-1, av_rescale_q(picture_->best_effort_timestamp - *first_timestamp_,
                                                   stream_->time_base, {1, 1'000'000'000}));
  }

  // Whether no picture that was lost is shown before the one in picture_, which the decoder held back when it
  // met the damage. Without timestamps that is known of streams that do not reorder: an encoder that uses B
  // pictures at all has used one within the 16 pictures that H.264 and HEVC can hold back.
  [[nodiscard]] bool precedes_damage() const {
    if (damage_timestamp_ && picture_->best_effort_timestamp != AV_NOPTS_VALUE)
      return picture_->best_effort_timestamp < *damage_timestamp_;
    return only_intra_ || (!has_b_pictures_ && index_ > 16);
  }

  // The next good picture into picture_; false at the end. Once damage is met nothing more is read, but the
  // good pictures before it that the decoder still holds come first.
  [[nodiscard]] Result<bool> decode() {
    for (;;) {
      const int received = avcodec_receive_frame(decoder_.get(), picture_.get());
      if (received == 0) {
        // H.264 also flags the pictures of a stream that does not begin with an IDR picture. They are all
        // there is.
        const bool corrupt =
            (picture_->flags & AV_FRAME_FLAG_CORRUPT) != 0 && decoder_->codec_id != AV_CODEC_ID_H264;
        if (corrupt || picture_->decode_error_flags != 0) return damaged("the picture is incomplete");
        only_intra_ = only_intra_ && picture_->pict_type == AV_PICTURE_TYPE_I;
        has_b_pictures_ = has_b_pictures_ || picture_->pict_type == AV_PICTURE_TYPE_B;
        if (damage_ && !precedes_damage()) return damaged(*damage_);
        return true;
      }
      if (received == AVERROR_EOF) return damage_ ? Result<bool>(damaged(*damage_)) : false;
      if (received != AVERROR(EAGAIN)) {
        note_damage(ffmpeg_message(received));
        if (draining_) return damaged(*damage_);
      }
      feed();
    }
  }

  // Gives the decoder one packet, or the order to drain.
  void feed() {
    while (!damage_ && !draining_) {
      if (!read_packet()) break;
      const int sent = avcodec_send_packet(decoder_.get(), packet_.get());
      if (sent >= 0) return;
      note_damage(ffmpeg_message(sent));
    }
    if (!draining_) {
      draining_ = true;
      avcodec_send_packet(decoder_.get(), nullptr);
    }
  }

  // The next whole packet of the video; false at the end of what can be used.
  bool read_packet() {
    do {
      av_packet_unref(packet_.get());
      const int read = av_read_frame(container_.get(), packet_.get());
      if (read < 0) {
        if (read != AVERROR_EOF || bridge_->error())
          note_damage(ffmpeg_message(read));
        else if (bridge_->file().size() < expected_size_)
          note_damage("the file ends too early");
        return false;
      }
    } while (packet_->stream_index != stream_->index);
    if ((packet_->flags & AV_PKT_FLAG_CORRUPT) != 0) {
      note_damage("the data is incomplete");
    } else if (decoder_->codec_id == AV_CODEC_ID_FFV1) {
      // Whether a stream has checksums shows by the first picture for which they hold.
      const bool hold = ffv1_checksums_hold({packet_->data, static_cast<std::size_t>(packet_->size)});
      if (has_checksums_ && !hold) note_damage("the checksum is wrong");
      has_checksums_ = hold;
    }
    if (packet_->dts != AV_NOPTS_VALUE) last_dts_ = packet_->dts;
    return !damage_;
  }

  // In the packet at hand, or in what should have followed the last one: nothing decoded later is shown
  // earlier than it is decoded.
  void note_damage(std::string what) {
    if (damage_) return;
    damage_ = std::move(what);
    if (elementary_) return;
    if (packet_->size > 0 && packet_->pts != AV_NOPTS_VALUE)
      damage_timestamp_ = packet_->pts;
    else if (packet_->size == 0 && last_dts_)
      damage_timestamp_ = *last_dts_ + 1;
  }

  [[nodiscard]] std::unexpected<Error> damaged(const std::string& what) const {
    if (bridge_->error())
      return std::unexpected(
          Error{bridge_->error()->kind, fmt::format("frame {}: {}", index_, bridge_->error()->message)});
    return failure("{}: frame {}: is damaged or truncated: {}", name_, index_, what);
  }

  std::string name_;
  ReaderOptions options_;
  std::unique_ptr<InputBridge> bridge_;  // behind the container, which reads from it
  FfmpegPtr<AVFormatContext> container_;
  AVStream* stream_ = nullptr;
  bool elementary_ = false;
  FfmpegPtr<AVCodecContext> decoder_;
  FfmpegPtr<AVPacket> packet_;
  FfmpegPtr<AVFrame> picture_;
  bool held_ = false;  // picture_ is decoded, but not delivered
  bool draining_ = false;
  std::optional<std::string> damage_;
  std::optional<std::int64_t> damage_timestamp_;  // of the first picture lost, in units of the stream
  std::optional<std::int64_t> last_dts_;          // of the packets read, likewise
  bool only_intra_ = true;                        // of the pictures so far
  bool has_b_pictures_ = false;
  bool has_checksums_ = false;
  std::optional<std::uint64_t> expected_size_;  // of the file, where it says so itself

  FrameFormat format_;
  AVPixelFormat pixels_ = AV_PIX_FMT_NONE;
  std::unique_ptr<FramePool> pool_;
  FrameConverter converter_;
  std::int64_t index_ = 0;
  std::optional<std::int64_t> first_timestamp_;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameReader>> open_ffmpeg_reader(std::unique_ptr<InputFile> file,
                                                        const ReaderOptions& options) {
  silence_ffmpeg();
  auto reader = std::make_unique<FfmpegReader>(std::move(file), options);
  if (Status opened = reader->open(); !opened) return std::unexpected(std::move(opened.error()));
  return reader;
}

}  // namespace millrace::video
