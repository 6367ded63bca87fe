#include "millrace/video/sequence_writer.h"

#include "millrace/base/file/output_file.h"
#include "millrace/video/ffmpeg_backend.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

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

class SequenceWriter final : public FrameWriter {
 public:
  SequenceWriter(SequenceName sequence, std::string_view name, const FrameFormat& format,
                 WriterOptions options)
      : sequence_(std::move(sequence)), name_(name), format_(format), options_(std::move(options)) {}

  [[nodiscard]] Status open() {
    const auto backend = ffmpeg_backend();
    if (!backend) return std::unexpected(backend.error());
    auto encoder = (*backend)->open_picture_encoder(name_, encoder_of(sequence_), format_, options_);
    if (!encoder) return std::unexpected(std::move(encoder.error()));
    encoder_ = *std::move(encoder);
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
    for (const std::string& name : encoder_->not_kept())
      if (std::ranges::find(words, name) == words.end()) words.push_back(name);
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
    const auto picture = encoder_->encode(frame, frames_);
    if (!picture) return std::unexpected(picture.error());
    auto file = OutputFile::open(
        sequence_.at(frames_ + 1),
        {.overwrite = options_.overwrite, .durable = false, .stop_ends_writes = false}, options_.stop);
    if (!file) return std::unexpected(std::move(file.error()));
    if (Status written = (*file)->write(*picture); !written) return written;
    bytes_ += picture->size();
    return (*file)->commit();
  }

  SequenceName sequence_;
  std::string name_;
  FrameFormat format_;
  WriterOptions options_;
  std::unique_ptr<PictureEncoder> encoder_;
  std::vector<std::string> not_kept_;  // properties of the whole video
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
  auto writer = std::make_unique<SequenceWriter>(sequence, name, format, options);
  if (Status opened = writer->open(); !opened) return std::unexpected(std::move(opened.error()));
  return writer;
}

}  // namespace millrace::video
