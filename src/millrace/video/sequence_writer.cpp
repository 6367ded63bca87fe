#include "millrace/video/sequence_writer.h"

#include "millrace/base/output_file.h"
#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/frame_picture.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/side_data.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, const char*>, 8> encoders{{{".png", "png"},
                                                                            {".jpg", "mjpeg"},
                                                                            {".jpeg", "mjpeg"},
                                                                            {".tif", "tiff"},
                                                                            {".tiff", "tiff"},
                                                                            {".bmp", "bmp"},
                                                                            {".ppm", "ppm"},
                                                                            {".pgm", "pgm"}}};

const char* encoder_of(const SequenceName& sequence) {
  const auto* found = std::ranges::find_if(
      encoders, [&](const auto& each) { return sequence.suffix().ends_with(each.first); });
  return found == encoders.end() ? nullptr : found->second;
}

// Returns "out%04d.png" for "out.png".
std::string numbered(const std::string& name) {
  const fs::path path(name);
  return (path.parent_path() / path.stem()).string() + "%04d" + path.extension().string();
}

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

class SequenceWriter final : public FrameWriter {
 public:
  SequenceWriter(SequenceName sequence, std::string_view name, const FrameFormat& format,
                 WriterOptions options)
      : sequence_(std::move(sequence)), name_(name), format_(format), options_(std::move(options)) {}

  [[nodiscard]] Status open() {
    const AVCodec* const codec = avcodec_find_encoder_by_name(encoder_of(sequence_));
    if (codec == nullptr)
      return usage_error("{}: this build of FFmpeg does not write such pictures; use .png", name_);
    const auto own = to_ffmpeg(format_.chroma, format_.bits);
    AVPixelFormat pixels =
        own ? avcodec_find_best_pix_fmt_of_list(codec->pix_fmts, *own, 0, nullptr) : AV_PIX_FMT_NONE;
    if (!options_.pixel_format.empty()) {
      const AVPixelFormat asked = av_get_pix_fmt(options_.pixel_format.c_str());
      pixels = avcodec_find_best_pix_fmt_of_list(codec->pix_fmts, asked, 0, nullptr);
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
    if (options_.properties)
      for (const auto& [name, bytes] : *options_.properties)
        not_kept_.push_back(name);
    return OutputFile::check(sequence_.at(1), options_.overwrite);
  }

  [[nodiscard]] Status write(const Frame& frame) override {
    if (failed_) return std::unexpected(*failed_);
    Status written = write_picture(frame);
    if (written)
      ++frames_;
    else
      failed_ = written.error();
    return written;
  }

  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  [[nodiscard]] WrittenAs written_as() const override {
    const std::string codec = encoder_of(sequence_);
    return {.codec = codec, .title = codec, .fallback = {}, .bytes = bytes_};
  }
  [[nodiscard]] std::vector<std::string> not_kept() const override {
    std::vector<std::string> words = not_kept_;
    if (format_.has_timestamps()) words.emplace_back("frame times");
    return words;
  }

 private:
  [[nodiscard]] Status write_picture(const Frame& frame) {
    if (frames_ == 1 && sequence_.is_single())
      return failure(
          "{}: is one picture, and there are more; take one of them (--frames 1), or give a name with a "
          "number: {}",
          name_, numbered(name_));
    if (frame.format() != format_)
      return failure("{}: frame {} is {}, not {}", name_, frame.index, to_string(frame.format()),
                     to_string(format_));
    AVFrame* const picture = picture_.of(frame);
    if (picture == nullptr) return failure("{}: out of memory", name_);
    picture->pts = frames_;
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
    auto file = OutputFile::open(
        sequence_.at(frames_ + 1),
        {.overwrite = options_.overwrite, .durable = false, .stop_ends_writes = false}, options_.stop);
    if (!file) return std::unexpected(std::move(file.error()));
    const Status written = (*file)->write(
        {reinterpret_cast<const std::byte*>(packet_->data), static_cast<std::size_t>(packet_->size)});
    if (!written) return written;
    bytes_ += static_cast<std::uint64_t>(packet_->size);
    return (*file)->commit();
  }

  SequenceName sequence_;
  std::string name_;
  FrameFormat format_;
  WriterOptions options_;
  FramePicture picture_;
  FfmpegPtr<AVCodecContext> encoder_;
  FfmpegPtr<AVPacket> packet_;
  std::vector<std::string> not_kept_;
  std::int64_t frames_ = 0;
  std::uint64_t bytes_ = 0;  // total of all pictures
  std::optional<Error> failed_;
};

}  // namespace

std::optional<SequenceName> picture_sequence(std::string_view output) {
  auto sequence = SequenceName::parse(output);
  return sequence && encoder_of(*sequence) != nullptr ? std::move(sequence) : std::nullopt;
}

std::optional<SequenceName> single_picture(std::string_view output) {
  auto single = SequenceName::single(output);
  return !SequenceName::parse(output) && encoder_of(single) != nullptr ? std::optional(std::move(single))
                                                                       : std::nullopt;
}

bool share_pictures(const std::string& output, const std::string& other) {
  std::error_code unknown;
  const auto written = picture_sequence(output);
  // Parses the name as a reader does, which accepts more kinds of pictures.
  const auto named = fs::exists(other, unknown) ? std::nullopt : SequenceName::parse(other);
  if (!written && !named) return false;
  const auto folder_of = [&](const std::string& file) {
    return fs::weakly_canonical(fs::absolute(file, unknown).parent_path(), unknown);
  };
  // Only sequences double percent signs; at() undoes that, and a single picture has none.
  if (folder_of(written ? written->at(1) : output) != folder_of(named ? named->at(1) : other)) return false;
  if (written && named) return written->may_meet(*named);
  const auto file = [](const std::string& name) { return fs::path(name).filename().string(); };
  return (written ? written->number_of(file(other)) : named->number_of(file(output))).has_value();
}

Result<std::unique_ptr<FrameWriter>> open_sequence_writer(const SequenceName& sequence, std::string_view name,
                                                          const FrameFormat& format,
                                                          const WriterOptions& options) {
  if (options.codec != VideoCodec::automatic || options.crf || options.bitrate || !options.preset.empty() ||
      !options.encoder_options.empty())
    return usage_error("{}: pictures are coded as their name says; leave codec, crf, preset, bitrate and "
                       "encoder options out",
                       name);
  if (Status loaded = hear_ffmpeg(); !loaded) return std::unexpected(std::move(loaded.error()));
  auto writer = std::make_unique<SequenceWriter>(sequence, name, format, options);
  if (Status opened = writer->open(); !opened) return std::unexpected(std::move(opened.error()));
  return writer;
}

}  // namespace millrace::video
