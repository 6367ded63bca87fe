#include "millrace/video/ffmpeg/ffmpeg_writer.h"

#include "millrace/video/coded/loop_count.h"
#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/frame_picture.h"
#include "millrace/video/ffmpeg/output_bridge.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/side_copy.h"
#include "millrace/video/ffmpeg/side_data.h"
#include "millrace/video/ffmpeg/versions.h"
#include "millrace/video/ffmpeg/writer_clock.h"
#include "millrace/video/frame/own_duration.h"
#include "millrace/video/frame/presentation_clock.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/opt.h>
}

namespace millrace::video {
namespace {

class FfmpegWriter final : public FrameWriter {
 public:
  FfmpegWriter(std::unique_ptr<OutputFile> file, const FrameFormat& format, const Container& container)
      : bridge_(std::make_unique<OutputBridge>(std::move(file))), format_(format), container_(container),
        times_(format, container), time_base_(times_.time_base()), clock_(format) {}
  FfmpegWriter(const FfmpegWriter&) = delete;
  FfmpegWriter& operator=(const FfmpegWriter&) = delete;
  ~FfmpegWriter() override {
    const OwnFfmpegCalls own;
    if (side_) side_->source().detach();
    if (encoder_ && !last_pts_) give_a_frame();
  }

  [[nodiscard]] Status open(const EncoderChoice& choice, const WriterOptions& options) {
    AVFormatContext* context = nullptr;
    avformat_alloc_output_context2(&context, nullptr, container_.muxer, nullptr);
    muxer_.reset(context);
    packet_.reset(av_packet_alloc());
    if (!muxer_ || !packet_ || bridge_->io() == nullptr) return failure("{}: out of memory", name());
    auto picture = FramePicture::make(format_, static_cast<AVPixelFormat>(choice.pixel_format));
    if (!picture)
      return std::unexpected(
          Error{picture.error().kind, fmt::format("{}: {}", name(), picture.error().message)});
    picture_ = *std::move(picture);
    muxer_->pb = bridge_->io();
    muxer_->strict_std_compliance = muxer_compliance;
    keep_part_ = options.keep_part;
    written_as_ = video::written_as(choice);
    if (Status opened = open_encoder(choice, options); !opened) return opened;

    if (options.side_streams) side_ = std::make_unique<SideCopy>(options.side_streams, container_.suffix);
    stream_ = side_ ? side_->add_streams(*muxer_) : avformat_new_stream(muxer_.get(), nullptr);
    if (stream_ == nullptr || avcodec_parameters_from_context(stream_->codecpar, encoder_.get()) < 0)
      return failure("{}: out of memory", name());
    stream_->time_base = encoder_->time_base;
    stream_->avg_frame_rate = encoder_->framerate;
    stream_->sample_aspect_ratio = encoder_->sample_aspect_ratio;
    if (options.properties) write_properties(*options.properties);
    set_up_muxer(*muxer_, container_, format_, times_, *stream_);
    if (options.reproducible) muxer_->flags |= AVFMT_FLAG_BITEXACT;
    if (Status begun = check(avformat_write_header(muxer_.get(), nullptr)); !begun) return begun;
    if (side_) {
      side_->source().attach([this] {
        const std::scoped_lock lock(muxing_);
        [[maybe_unused]] const int kept_by_bridge = side_->relieve(*muxer_);
      });
    }
    return {};
  }

  [[nodiscard]] Status write(const Frame& frame) override {
    const OwnFfmpegCalls own;
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
    const OwnFfmpegCalls own;
    // After a failed write, there may still be room for the container's index.
    Status drained = failed_ ? Status{} : drain();
    if (side_) {
      side_->source().detach();
      if (drained && !failed_) drained = finish_side();
    }
    if (is_gif()) {
      const std::int64_t hundredths = av_rescale_q(last_duration_, time_base_, {1, 100});
      av_opt_set_int(muxer_->priv_data, "final_delay", std::clamp<std::int64_t>(hundredths, 1, 65535), 0);
    }
    Status ended = check(av_write_trailer(muxer_.get()));
    avio_flush(bridge_->io());
    // The encoder may still hold all frames accepted so far.
    if (failed_ && (!keep_part_ || muxed_ == 0)) return std::unexpected(*failed_);
    if (!drained) return drained;
    if (!ended) return ended;
    if (bridge_->error()) return std::unexpected(*bridge_->error());
    if (side_ && bridge_->file().can_read_back()) side_->compare(*muxer_, bridge_->file(), bridge_->bytes());
    return bridge_->file().commit();
  }

  [[nodiscard]] std::vector<std::string> not_kept() const override {
    std::vector<std::string> words = not_kept_;
    if (side_) std::ranges::copy(side_->not_kept(), std::back_inserter(words));
    return words;
  }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  [[nodiscard]] WrittenAs written_as() const override {
    WrittenAs written = written_as_;
    written.bytes = bridge_->bytes();
    return written;
  }
  // Encoders do not report their lookahead. x264 and x265 use 10 to 60 frames, depending on the preset, plus
  // one per thread. Encoders that write only keyframes need none.
  [[nodiscard]] std::int64_t frames_ahead() const override {
    constexpr std::int64_t most = 64;
    const AVCodecDescriptor* const kind = avcodec_descriptor_get(encoder_->codec_id);
    const bool keeps = (encoder_->codec->capabilities & AV_CODEC_CAP_DELAY) != 0;
    return keeps && kind != nullptr && (kind->props & AV_CODEC_PROP_INTRA_ONLY) == 0 ? most : 0;
  }
  void cancel() override { bridge_->file().cancel(); }
  void cancel_after(std::chrono::milliseconds patience) override { bridge_->file().cancel_after(patience); }

 private:
  [[nodiscard]] const std::string& name() const { return bridge_->file().name(); }

  [[nodiscard]] Status open_encoder(const EncoderChoice& choice, const WriterOptions& options) {
    const AVCodec* codec = avcodec_find_encoder_by_name(choice.codec->encoder);
    encoder_.reset(avcodec_alloc_context3(codec));
    if (!encoder_) return failure("{}: out of memory", name());
    encoder_->width = format_.width;
    encoder_->height = format_.height;
    encoder_->pix_fmt = static_cast<AVPixelFormat>(choice.pixel_format);
    encoder_->bits_per_raw_sample = format_.bits;
    encoder_->framerate = {format_.rate_numerator, format_.rate_denominator};
    encoder_->time_base = time_base_;
    encoder_->sample_aspect_ratio = {format_.aspect_numerator, format_.aspect_denominator};
    duration_ = times_.frame_duration();
    write_color_tags(format_, *encoder_);
    if (const auto mapping = from_ffmpeg(encoder_->pix_fmt); mapping && mapping->rgb) {
      encoder_->color_range = AVCOL_RANGE_JPEG;
      encoder_->colorspace = AVCOL_SPC_RGB;
      encoder_->bits_per_raw_sample = mapping->bits;
    }
    encoder_->field_order = to_ffmpeg(format_.field_order);
    if (format_.is_interlaced())
      encoder_->flags |= AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME;
    encoder_->thread_count = options.encoder_threads;
    if ((muxer_->oformat->flags & AVFMT_GLOBALHEADER) != 0) encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    set_up(*choice.codec, choice, options);
    encoder_->opaque = &messages_;
    const int opened = avcodec_open2(encoder_.get(), codec, nullptr);
    for (const FfmpegMessages::Message& message : messages_.take())
      if (message.unused_option)
        return usage_error(
            "{}: the encoder {} does not take an option of yours ({}); correct or leave it out", name(),
            choice.codec->encoder, message.text);
    if (opened < 0)
      return usage_error(
          "{}: the encoder {} does not take {} with these options ({}); use .y4m, or other options", name(),
          choice.codec->encoder, to_string(format_), ffmpeg_message(opened));
    return {};
  }

  [[nodiscard]] bool is_gif() const { return std::string_view(muxer_->oformat->name) == "gif"; }

  void write_properties(Properties properties) {
    if (const auto times = find_loop_count(properties)) {
      if (is_gif())
        av_opt_set_int(muxer_->priv_data, "loop", gif_muxer_loop(*times), 0);
      else if (*times != 1)
        not_kept_.push_back(*times == 0 ? "being played without end"
                                        : fmt::format("being played {} times", *times));
      properties.erase(std::string(loop_count_name));
    }
    std::ranges::copy(write_stream_properties(properties, *stream_, *muxer_->oformat),
                      std::back_inserter(not_kept_));
  }

  // With AVX-512, the lookahead of libx264 (164) reads uninitialised memory, so the output depends on what
  // the process did before. AVX2 is as fast and gives the same bytes as processors without AVX-512.
  void keep_to_avx2(const WriterOptions& options) {
    if ((av_get_cpu_flags() & AV_CPU_FLAG_AVX512) == 0) return;
    std::string words;
    for (const auto& [name, value] : options.encoder_options) {
      if (name != "x264-params" && name != "x264opts") continue;
      if (value.starts_with("asm=") || value.contains(":asm=")) return;
      if (name == "x264-params") words = value + ":";
    }
    av_opt_set(encoder_.get(), "x264-params", (words + "asm=AVX2,FMA3,BMI2,LZCNT").c_str(),
               AV_OPT_SEARCH_CHILDREN);
  }

  void set_up(const Codec& codec, const EncoderChoice& choice, const WriterOptions& options) {
    const auto set = [this](const char* name, const std::string& value) {
      av_opt_set(encoder_.get(), name, value.c_str(), AV_OPT_SEARCH_CHILDREN);
    };
    if (options.bitrate)
      encoder_->bit_rate = *options.bitrate;
    else if (codec.most_crf > 0)
      set("crf", fmt::format("{}", options.crf.value_or(codec.default_crf)));
    if (!options.preset.empty())
      set(codec.preset_option, options.preset);
    else if (codec.default_preset != nullptr)
      set(codec.preset_option, codec.default_preset);
    switch (codec.codec) {
    case VideoCodec::ffv1:
      encoder_->level = 3;     // the version with checksums, so that readers find damage
      encoder_->gop_size = 1;  // each frame is independent, so files can be trimmed and seeked anywhere
      encoder_->slices = choice.slices;
      set("slicecrc", "1");
      break;
    case VideoCodec::h265: {
      std::string words = "log-level=none";
      if (const std::string hdr = options.properties ? x265_words(*options.properties) : ""; !hdr.empty())
        words += ":" + hdr;
      if (options.encoder_threads == 1) words += ":pools=none:frame-threads=1";
      // The user's words come last, so that they count. FFmpeg would let them replace all others.
      for (const auto& [name, value] : options.encoder_options)
        if (name == "x265-params") words += ":" + value;
      set("x265-params", words);
      break;
    }
    case VideoCodec::vp9:
      if (!options.bitrate) encoder_->bit_rate = 0;  // only quality decides
      set("row-mt", "1");
      break;
    default:
      break;
    }
    for (const auto& [name, value] : options.encoder_options)
      if (codec.codec != VideoCodec::h265 || name != "x265-params") set(name.c_str(), value);
    if (codec.codec == VideoCodec::h264) keep_to_avx2(options);
  }

  [[nodiscard]] Status encode(const Frame& frame) {
    AVFrame* const picture = picture_.of(frame);
    if (picture == nullptr) return failure("{}: out of memory", name());
    write_color_tags(*encoder_, *picture);
    set_fields(*picture, format_.is_interlaced(), format_.field_order == FieldOrder::top_first);
    if (frame.properties) {
      for (std::string& name : write_frame_properties(*frame.properties, *picture, *encoder_->codec))
        if (std::ranges::find(not_kept_, name) == not_kept_.end()) not_kept_.push_back(std::move(name));
    }
    const std::int64_t shown = clock_.next(frame);
    if (side_ && !last_pts_) {
      const std::scoped_lock lock(muxing_);
      side_->set_shift(clock_.shift(), times_.base());
    }
    picture->pts = times_.at(shown);
    if (last_pts_ && picture->pts <= *last_pts_) picture->pts = *last_pts_ + 1;
    if (!last_pts_) first_pts_ = picture->pts;
    last_pts_ = picture->pts;
    const auto own = format_.has_timestamps() ? own_duration(frame) : std::nullopt;
    last_duration_ = own ? std::max<std::int64_t>(1, times_.at(*own)) : duration_;
    if (last_duration_ != duration_) durations_[picture->pts] = last_duration_;
    const int sent = avcodec_send_frame(encoder_.get(), picture);
    if (sent < 0)
      return failure("{}: frame {}: encoding failed ({})", name(), frame.index, ffmpeg_message(sent));
    return mux_packets();
  }

  // SVT-AV1 (1.4) hangs on close unless it was given a frame.
  void give_a_frame() {
    if (avcodec_is_open(encoder_.get()) == 0 || std::string_view(encoder_->codec->name) != "libsvtav1")
      return;
    const FfmpegPtr<AVFrame> picture(av_frame_alloc());
    if (!picture) return;
    picture->format = encoder_->pix_fmt;
    picture->width = encoder_->width;
    picture->height = encoder_->height;
    picture->pts = 0;
    if (av_frame_get_buffer(picture.get(), 0) < 0) return;
    for (int plane = 0; plane < AV_NUM_DATA_POINTERS && picture->buf[plane] != nullptr; ++plane)
      std::memset(picture->buf[plane]->data, 0, picture->buf[plane]->size);
    if (avcodec_send_frame(encoder_.get(), picture.get()) < 0) return;
    avcodec_send_frame(encoder_.get(), nullptr);
    while (avcodec_receive_packet(encoder_.get(), packet_.get()) >= 0)
      av_packet_unref(packet_.get());
  }

  [[nodiscard]] Status mux_packets() {
    for (;;) {
      const int received = avcodec_receive_packet(encoder_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return {};
      if (received < 0) return failure("{}: encoding failed ({})", name(), ffmpeg_message(received));
      packet_->stream_index = stream_->index;
      const auto own = durations_.extract(packet_->pts);
      packet_->duration = own.empty() ? duration_ : own.mapped();
      // Encoders that reorder start decoding before 0 by the duration of the first frames. With a variable
      // frame rate that can be hours, which no container can store.
      if (const int delay = encoder_->has_b_frames; packets_ < delay)
        packet_->dts = first_pts_ - (delay - packets_) * duration_;
      if (packets_ == 0) first_dts_ = packet_->dts;
      ++packets_;
      if (packets_ == frames_ && last_duration_ != duration_)
        end_file_at(*last_pts_ + last_duration_, first_pts_, first_dts_, *packet_);
      av_packet_rescale_ts(packet_.get(), encoder_->time_base, stream_->time_base);
      if (Status fits = check_gap(*packet_); !fits) return fits;
      if (Status muxed = mux(*packet_); !muxed) return muxed;
      ++muxed_;
    }
  }

  // Muxes packets in decoding order. Earlier packets of the other streams are already here, unless they come
  // later in the input file.
  [[nodiscard]] Status mux(AVPacket& packet) {
    const std::scoped_lock lock(muxing_);
    if (side_) {
      if (Status before = check(side_->write_until(*muxer_, packet.dts, stream_->time_base)); !before)
        return before;
    }
    return check(av_write_frame(muxer_.get(), &packet));
  }

  [[nodiscard]] Status finish_side() {
    const std::scoped_lock lock(muxing_);
    if (side_->source().ends_with_frames() && last_pts_)
      side_->end_at(*last_pts_ + last_duration_, time_base_);
    return check(side_->write_until(*muxer_, std::nullopt, stream_->time_base));
  }

  // If a time does not fit into .mp4, FFmpeg writes a wrong one. It does not read times from half of that
  // limit on.
  [[nodiscard]] Status check_gap(const AVPacket& packet) {
    const std::int64_t before = std::exchange(last_dts_, packet.dts).value_or(packet.dts);
    if (!container_.iso) return {};
    constexpr std::int64_t between_packets = std::numeric_limits<int>::max();
    constexpr std::int64_t from_decoded_to_shown = std::int64_t{1} << 28;
    if (packet.dts - before < between_packets && packet.pts - packet.dts < from_decoded_to_shown) return {};
    const std::int64_t gap = std::max(packet.dts - before, packet.pts - packet.dts);
    return failure("{}: {} cannot hold the gap of {:.0f} seconds before the frame at {:.0f} s; use .mkv",
                   name(), container_.suffix, static_cast<double>(gap) * av_q2d(stream_->time_base),
                   static_cast<double>(packet.pts) * av_q2d(stream_->time_base));
  }

  [[nodiscard]] Status drain() {
    const int sent = avcodec_send_frame(encoder_.get(), nullptr);
    if (sent < 0)
      return failure("{}: encoding failed at the end of the file ({})", name(), ffmpeg_message(sent));
    return mux_packets();
  }

  // The muxer does not always report a failed write.
  [[nodiscard]] Status check(int code) const {
    if (bridge_->error()) return std::unexpected(*bridge_->error());
    if (code < 0) return failure("{}: writing failed ({})", name(), ffmpeg_message(code));
    return {};
  }

  std::unique_ptr<OutputBridge> bridge_;  // declared after the muxer, which writes to it
  std::mutex muxing_;                     // guards muxer and side_, which the reading thread may use too
  FrameFormat format_;
  const Container& container_;
  WriterClock times_;
  AVRational time_base_;  // of times_
  PresentationClock clock_;
  MuxerPtr muxer_;
  std::unique_ptr<SideCopy> side_;
  AVStream* stream_ = nullptr;
  FfmpegMessages messages_;  // before the encoder, which logs until it is closed
  FfmpegPtr<AVCodecContext> encoder_;
  FfmpegPtr<AVPacket> packet_;
  FramePicture picture_;
  std::int64_t duration_ = 1;       // of a frame at the frame rate, in the encoder's time base
  std::int64_t last_duration_ = 1;  // of the last frame given to the encoder
  std::map<std::int64_t, std::int64_t> durations_;  // others, by frame time
  std::int64_t packets_ = 0;                        // packets from the encoder
  std::int64_t muxed_ = 0;                          // packets muxed
  std::int64_t first_pts_ = 0;                      // first given to the encoder, in its time base
  std::int64_t first_dts_ = 0;                      // first from the encoder, in its time base
  std::optional<std::int64_t> last_pts_;            // last given to the encoder, in its time base
  std::optional<std::int64_t> last_dts_;            // last given to the muxer, in the stream's time base
  std::int64_t frames_ = 0;
  std::vector<std::string> not_kept_;
  WrittenAs written_as_;  // size unset
  bool keep_part_ = true;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameWriter>> open_ffmpeg_writer(std::unique_ptr<OutputFile> file,
                                                        const FrameFormat& format,
                                                        const EncoderChoice& choice,
                                                        const WriterOptions& options) {
  auto writer = std::make_unique<FfmpegWriter>(std::move(file), format, *choice.container);
  if (Status opened = writer->open(choice, options); !opened)
    return std::unexpected(std::move(opened.error()));
  return writer;
}

}  // namespace millrace::video
