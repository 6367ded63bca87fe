#include "millrace/video/ffmpeg/linked_backend.h"

#include "millrace/base/error/export.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/ffmpeg_reader.h"
#include "millrace/video/ffmpeg/ffmpeg_writer.h"
#include "millrace/video/ffmpeg/side_streams.h"

#include <utility>

namespace millrace::video {
namespace {

AVRational rational(TimeUnit unit) { return {unit.numerator, unit.denominator}; }

}  // namespace

Result<std::unique_ptr<FrameReader>>
LinkedBackend::open_reader(std::unique_ptr<InputFile> file, const ReaderOptions& options,
                           const std::optional<EarlierFrames>& earlier) const {
  const OwnFfmpegCalls own;
  return open_ffmpeg_reader(std::move(file), options, earlier);
}

Result<EncoderChoice> LinkedBackend::choose_encoder(std::string_view output, const Container& container,
                                                    const FrameFormat& format,
                                                    const WriterOptions& options) const {
  const OwnFfmpegCalls own;
  return video::choose_encoder(output, container, format, options);
}

Result<std::unique_ptr<FrameWriter>> LinkedBackend::open_writer(std::unique_ptr<OutputFile> file,
                                                                const FrameFormat& format,
                                                                const EncoderChoice& choice,
                                                                const WriterOptions& options) const {
  const OwnFfmpegCalls own;
  return open_ffmpeg_writer(std::move(file), format, choice, options);
}

std::shared_ptr<SideStreams> LinkedBackend::make_side_streams(bool audio, std::optional<std::int64_t> start,
                                                              std::optional<std::int64_t> end,
                                                              const std::string& output) const {
  return std::make_shared<SideStreams>(audio, start, end, output);
}

void LinkedBackend::begin_pass(SideStreams& side, std::int64_t begin, std::int64_t shift, TimeUnit unit,
                               bool has_window) const {
  side.begin_pass(begin, shift, rational(unit), has_window);
}

void LinkedBackend::set_window(SideStreams& side, std::optional<std::int64_t> start,
                               std::optional<std::int64_t> end, std::int64_t shift, TimeUnit unit) const {
  side.set_window(start, end, shift, rational(unit));
}

void LinkedBackend::end_with_frames(SideStreams& side) const { side.end_with_frames(); }

}  // namespace millrace::video

extern "C" MILLRACE_EXPORT const millrace::video::FfmpegBackend*
millrace_ffmpeg_backend(std::uint64_t abi, bool is_own_program) noexcept {
  using namespace millrace::video;
  if (abi != ffmpeg_abi) return nullptr;
  static const LinkedBackend backend;
  hear_ffmpeg(is_own_program ? FfmpegHost::own_program : FfmpegHost::other_program);
  return &backend;
}
