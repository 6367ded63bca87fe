#include "millrace/video/writer.h"

#include "millrace/base/file/output_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/video/coded/coded_kinds.h"
#include "millrace/video/ffmpeg_backend.h"
#include "millrace/video/sequence_writer.h"
#include "millrace/video/y4m/y4m_writer.h"

#include <optional>

#include <fmt/ranges.h>

namespace millrace::video {
namespace {

class NullWriter final : public FrameWriter {
 public:
  [[nodiscard]] Status write(const Frame&) override {
    ++frames_;
    return {};
  }
  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] bool is_immediate() const override { return true; }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }

 private:
  std::int64_t frames_ = 0;
};

bool is_valid(const FrameFormat& format) {
  return format.width >= 1 && format.width <= max_dimension && format.height >= 1 &&
         format.height <= max_dimension && format.bits >= 8 && format.bits <= 16 && is_of_codes(format) &&
         format.rate_numerator > 0 && format.rate_denominator > 0;
}

bool is_y4m(std::string_view output) { return output == "-" || output.ends_with(".y4m"); }

}  // namespace

bool is_coded_output(std::string_view output) {
  return container_of(output) != nullptr || picture_sequence(output) || single_picture(output);
}

std::string first_file_of(const std::string& output) {
  const auto sequence = picture_sequence(output);
  return sequence ? sequence->at(1) : output;
}

bool takes_side_streams(std::string_view output) { return container_of(output) != nullptr; }

Result<VideoCodec> parse_codec(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Codec& codec : codecs()) {
    if (codec.name == name) return codec.codec;
    names.push_back(codec.name);
  }
  if (name == "hevc") return VideoCodec::h265;
  return usage_error("unknown codec {}{}; use {}", in_quotes(name), did_you_mean(name, names),
                     fmt::join(names, ", "));
}

Status check_output_kind(std::string_view output, const WriterOptions& options) {
  if (output == "null" || is_coded_output(output)) return {};
  if (output == "/dev/stdout" || output == "/dev/fd/1")
    return usage_error("{}: does not say what kind of video to write; use '-' for y4m on standard output",
                       output);
  if (!is_y4m(output))
    return usage_error(
        "{}: no kind of output that can be written; use a name that ends in .mp4, .mkv, .mov, .webm, .gif, "
        ".y4m or .yuv, NAME.png for one picture, NAME%04d.png for more, '-' for y4m on standard output, or "
        "'null'",
        output.empty() ? "''" : output);
  if (options.codec != VideoCodec::automatic)
    return usage_error("{}: y4m is uncompressed and has no codec; leave the codec out or use .mkv", output);
  if (options.crf || options.bitrate || !options.preset.empty() || !options.encoder_options.empty())
    return usage_error("{}: y4m is uncompressed; leave crf, bitrate, preset and encoder options out", output);
  if (!options.pixel_format.empty())
    return usage_error("{}: y4m holds planes of luma and chroma, and not {}; use .mkv", output,
                       options.pixel_format);
  return {};
}

namespace {

// None if nothing is encoded or the output is pictures.
Result<std::optional<EncoderChoice>> check(std::string_view output, const FrameFormat& format,
                                           const WriterOptions& options) {
  if (!is_valid(format))
    return usage_error("{}: {} at {}/{} frames a second cannot be written", output, to_string(format),
                       format.rate_numerator, format.rate_denominator);
  if (Status kind = check_output_kind(output, options); !kind) return std::unexpected(kind.error());
  const Container* const container = container_of(output);
  if (container == nullptr || picture_sequence(output)) return std::nullopt;
  if (Status takes = check_destination(*container, std::string(output)); !takes)
    return std::unexpected(takes.error());
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->choose_encoder(output, *container, format, options);
}

}  // namespace

Result<WrittenAs> check_writer(std::string_view output, const FrameFormat& format,
                               const WriterOptions& options) {
  const auto checked = check(output, format, options);
  if (!checked) return std::unexpected(checked.error());
  return *checked ? written_as(**checked) : WrittenAs();
}

Result<std::unique_ptr<FrameWriter>> open_writer(std::string_view output, const FrameFormat& format,
                                                 const WriterOptions& options) {
  // Refuses everything that can be refused before a file is created.
  const auto choice = check(output, format, options);
  if (!choice) return std::unexpected(choice.error());
  if (output == "null") return std::make_unique<NullWriter>();
  if (const auto sequence = picture_sequence(output))
    return open_sequence_writer(*sequence, output, format, options);
  if (const auto picture = single_picture(output))
    return open_sequence_writer(*picture, output, format, options);
  if (output == "-") return open_y4m_writer(OutputFile::standard_output(), format);
  Result<std::unique_ptr<OutputFile>> file = OutputFile::open(
      output, {.overwrite = options.overwrite, .durable = false, .stop_ends_writes = false}, options.stop);
  if (!file) return std::unexpected(std::move(file.error()));
  if (is_y4m(output)) return open_y4m_writer(*std::move(file), format, options.keep_part);
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->open_writer(*std::move(file), format, **choice, options);
}

}  // namespace millrace::video
