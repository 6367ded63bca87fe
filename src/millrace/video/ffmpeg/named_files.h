// NamedFiles: restricts the files that a playlist, such as HLS, may open.
#pragma once

#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/input_bridge.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::video {

// Lets a demuxer open only regular files in or below the folder of the user's file: no network addresses,
// other folders or pipes. A file that is refused or cannot be opened is an error, even if FFmpeg goes on
// without it. Ends FFmpeg's own waits when the user's file is stopped.
//
//   NamedFiles named(file);
//   named.guard(*context, options);  // before avformat_open_input()
//   ...
//   if (named.error()) return std::unexpected(*named.error());
//
// Must not move, and must outlive the context.
class NamedFiles {
 public:
  // `file` is the user's and must outlive this object.
  explicit NamedFiles(const InputFile& file) : file_(file) {}
  NamedFiles(const NamedFiles&) = delete;
  NamedFiles& operator=(const NamedFiles&) = delete;
  ~NamedFiles() = default;

  // Adds to the options for opening the context.
  void guard(AVFormatContext& context, FfmpegPtr<AVDictionary>& options);
  // The first file that was refused, or could not be opened or read.
  [[nodiscard]] std::optional<Error> error() const;

 private:
  static int open(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                  AVDictionary** options);
  static int close(AVFormatContext* context, AVIOContext* io);
  static int is_stopped(void* self);
  [[nodiscard]] Result<std::unique_ptr<InputFile>> open(const std::string& url) const;

  const InputFile& file_;
  std::vector<std::unique_ptr<InputBridge>> opened_;
  std::optional<Error> error_;
};

// Why files of this demuxer are refused, as words to follow the file's name: it opens other files in ways
// that NamedFiles cannot see. Null for all other demuxers.
[[nodiscard]] const char* why_refused(const AVInputFormat& demuxer);

}  // namespace millrace::video
