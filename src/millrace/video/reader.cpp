#include "millrace/video/reader.h"

#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg_backend.h"
#include "millrace/video/sample_format.h"
#include "millrace/video/sequence_reader.h"
#include "millrace/video/test_source.h"
#include "millrace/video/y4m/y4m_reader.h"

#include <filesystem>
#include <system_error>

namespace millrace::video {

Result<std::unique_ptr<FrameReader>> open_reader(std::string_view input, const ReaderOptions& options) {
  if (options.decoder_threads < 1)
    return usage_error("decoder threads: {} is too few; 1 is the least", options.decoder_threads);
  if (input.empty()) return usage_error("the input has no name; give a video file, '-' or test:WIDTHxHEIGHT");
  if (!is_coded_input(input) && options.samples) {
    ReaderOptions as_it_is = options;
    as_it_is.samples.reset();
    auto reader = open_reader(input, as_it_is);
    return reader ? converted(*std::move(reader), *options.samples) : std::move(reader);
  }
  if (input == "-") return open_y4m_reader(InputFile::standard_input(options.stop), options);
  if (input.starts_with(test_source_prefix)) return open_test_source(input, options);
  std::error_code missing;
  if (const auto sequence = SequenceName::parse(input); sequence && !std::filesystem::exists(input, missing))
    return open_sequence(*sequence, input, options);
  const bool is_address = input.find("://") != std::string_view::npos;
  Result<std::unique_ptr<InputFile>> file = InputFile::open(
      input,
      {.missing = is_address ? "addresses are not opened; pipe the video in, as by ffmpeg -i URL -f "
                               "yuv4mpegpipe - | millrace run ... -"
                             : "give a video file, '-' for y4m on standard input, or "
                               "test:WIDTHxHEIGHT",
       .directory = "give a video file inside it"},
      options.stop);
  if (!file) return std::unexpected(std::move(file.error()));
  if ((*file)->size() == 0) return failure("{}: is empty; give a file that contains video", input);
  if (!is_coded_input(input)) return open_y4m_reader(*std::move(file), options);
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->open_reader(*std::move(file), options);
}

std::shared_ptr<SideStreams> make_side_streams(bool audio, const Clip& clip, const std::string& output) {
  const auto backend = ffmpeg_backend();
  return backend ? (*backend)->make_side_streams(audio, clip.start, clip.end, output) : nullptr;
}

void begin_pass(SideStreams& side, const FrameFormat& format, std::int64_t begin, std::int64_t shift,
                bool has_window) {
  if (const auto backend = ffmpeg_backend())
    (*backend)->begin_pass(side, begin, shift, {format.time_base_numerator, format.time_base_denominator},
                           has_window);
}

void end_with_frames(SideStreams& side) {
  if (const auto backend = ffmpeg_backend()) (*backend)->end_with_frames(side);
}

bool is_coded_input(std::string_view input) {
  return input != "-" && !input.starts_with(test_source_prefix) && !input.ends_with(".y4m");
}

}  // namespace millrace::video
