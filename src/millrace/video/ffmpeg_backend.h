// FfmpegBackend: everything that needs FFmpeg's libraries.
//
//   const auto backend = ffmpeg_backend();   // opens the shared object at the first call
//   if (!backend) return std::unexpected(backend.error());
//   auto reader = (*backend)->open_reader(std::move(file), options);
//
// It is in a shared object of its own, libmillrace-ffmpeg-59.so: 59 is the major version of the libavcodec
// that the object is linked with. So programs start without FFmpeg's some 140 libraries, which take 30 ms to
// load, and one program supports each major version for which there is an object.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/file/output_file.h"
#include "millrace/version.h"
#include "millrace/video/coded/encoder_choice.h"
#include "millrace/video/frame/frame_reader.h"
#include "millrace/video/frame/frame_writer.h"
#include "millrace/video/join.h"
#include "millrace/video/packet_index.h"
#include "millrace/video/sample_format.h"
#include "millrace/video/side_reader.h"
#include "millrace/video/thumbnail.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::video {

// Frames of the same video already read from other files: their format, to which frames of this file are
// converted, and their number.
struct EarlierFrames {
  FrameFormat format;
  std::int64_t count = 0;
};

// The length of a unit of time in seconds, as a fraction.
struct TimeUnit {
  int numerator = 0;
  int denominator = 1;
};

// Encodes frames of one format as pictures, each complete in itself.
class PictureEncoder {
 public:
  PictureEncoder() = default;
  PictureEncoder(const PictureEncoder&) = delete;
  PictureEncoder& operator=(const PictureEncoder&) = delete;
  virtual ~PictureEncoder() = default;

  // The content of the picture's file, valid until the next call. number: of the picture, from 0.
  [[nodiscard]] virtual Result<std::span<const std::byte>> encode(const Frame& frame,
                                                                  std::int64_t number) = 0;
  // Properties of the frames that the pictures cannot store.
  [[nodiscard]] virtual const std::vector<std::string>& not_kept() const = 0;
};

// Has no state and is never destroyed. Thread-safe. Objects that it returns may be used like any other and
// destroyed in any thread. Errors are those of the functions of this module that have the same name.
class FfmpegBackend {
 public:
  FfmpegBackend() = default;
  FfmpegBackend(const FfmpegBackend&) = delete;
  FfmpegBackend& operator=(const FfmpegBackend&) = delete;

  [[nodiscard]] virtual Result<std::unique_ptr<FrameReader>>
  open_reader(std::unique_ptr<InputFile> file, const ReaderOptions& options,
              const std::optional<EarlierFrames>& earlier = std::nullopt) const = 0;
  // If the combination is impossible, returns a usage error that suggests a possible output.
  [[nodiscard]] virtual Result<EncoderChoice> choose_encoder(std::string_view output,
                                                             const Container& container,
                                                             const FrameFormat& format,
                                                             const WriterOptions& options) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<FrameWriter>>
  open_writer(std::unique_ptr<OutputFile> file, const FrameFormat& format, const EncoderChoice& choice,
              const WriterOptions& options) const = 0;
  // name: of the output, for messages. encoder: FFmpeg's name.
  [[nodiscard]] virtual Result<std::unique_ptr<PictureEncoder>>
  open_picture_encoder(std::string_view name, const std::string& encoder, const FrameFormat& format,
                       const WriterOptions& options) const = 0;

  [[nodiscard]] virtual std::shared_ptr<SideStreams> make_side_streams(bool audio,
                                                                       std::optional<std::int64_t> start,
                                                                       std::optional<std::int64_t> end,
                                                                       const std::string& output) const = 0;
  virtual void begin_pass(SideStreams& side, std::int64_t begin, std::int64_t shift, TimeUnit unit,
                          bool has_window) const = 0;
  // Limits this pass to packets shown from `start` on and before `end`, and moves them earlier by `shift`.
  // Times are on the input's clock.
  virtual void set_window(SideStreams& side, std::optional<std::int64_t> start,
                          std::optional<std::int64_t> end, std::int64_t shift, TimeUnit unit) const = 0;
  virtual void end_with_frames(SideStreams& side) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<SideReader>>
  open_side_reader(const std::string& file, std::shared_ptr<SideStreams> side,
                   const SideReaderOptions& options) const = 0;

  [[nodiscard]] virtual Result<PacketIndex> index_packets(const std::string& file,
                                                          const std::stop_token& stop) const = 0;
  [[nodiscard]] virtual Result<JoinedFile> join_videos(const JoinedVideo& video, const std::string& output,
                                                       const JoinOptions& options) const = 0;
  [[nodiscard]] virtual Result<std::int64_t> reordering_of(const std::string& file) const = 0;

  [[nodiscard]] virtual Result<Thumbnail> make_thumbnail(const Frame& frame, int side) const = 0;
  [[nodiscard]] virtual Result<std::vector<std::byte>> png_of_svg(const std::string& svg) const = 0;
  // Only for names that parse_sample_format() knows.
  [[nodiscard]] virtual Result<SampleFormat> sample_format(const std::string& name) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<FrameReader>> converted(std::unique_ptr<FrameReader> reader,
                                                                       const Samples& samples) const = 0;
  [[nodiscard]] virtual std::string codec_versions() const = 0;

 protected:
  ~FfmpegBackend() = default;
};

// Opens the shared object at the first successful call, and returns why that is impossible otherwise. Of
// several, the one for the newest FFmpeg that opens is taken; it stays loaded until the process ends.
// Thread-safe; a fork waits until loading is done.
[[nodiscard]] Result<const FfmpegBackend*> ffmpeg_backend();

// Loads FFmpeg ahead of time.
[[nodiscard]] Status load_ffmpeg();

// The one function that the shared object exports. Returns null if the caller was built from other
// declarations than the object. is_own_program: whether FFmpeg's messages may be silenced for the whole
// process.
inline constexpr char ffmpeg_entry_name[] = "millrace_ffmpeg_backend";
using FfmpegEntry = const FfmpegBackend* (*)(std::uint64_t abi, bool is_own_program) noexcept;

// Changes with the version and with the layout of what crosses the border.
inline constexpr std::uint64_t ffmpeg_abi = [] {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto add = [&hash](std::uint64_t value) { hash = (hash ^ value) * 1099511628211U; };
  for (const char each : std::string_view(MILLRACE_VERSION))
    add(static_cast<unsigned char>(each));
  for (const std::size_t size :
       {sizeof(Frame), sizeof(FrameFormat), sizeof(ReaderOptions), sizeof(WriterOptions), sizeof(Losses),
        sizeof(EncoderChoice), sizeof(Container), sizeof(Codec), sizeof(InputFile), sizeof(OutputFile),
        sizeof(JoinedVideo), sizeof(JoinedFile), sizeof(PacketIndex), sizeof(SampleFormat),
        sizeof(SideReaderOptions), sizeof(Thumbnail), sizeof(Error)})
    add(size);
  add(2);  // raise it if a function here changes
  return hash;
}();

}  // namespace millrace::video
