// OutputBridge: takes the bytes that FFmpeg's muxers write.
#pragma once

#include "millrace/base/file/output_file.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/versions.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace millrace::video {

// Passes FFmpeg's output to an OutputFile and keeps the first error. Must not move while FFmpeg uses it.
class OutputBridge {
 public:
  explicit OutputBridge(std::unique_ptr<OutputFile> file);
  OutputBridge(const OutputBridge&) = delete;
  OutputBridge& operator=(const OutputBridge&) = delete;
  ~OutputBridge() = default;

  // Null if memory runs out.
  [[nodiscard]] AVIOContext* io() { return io_.get(); }
  [[nodiscard]] OutputFile& file() { return *file_; }
  // Size of the file so far, without bytes still buffered by FFmpeg.
  [[nodiscard]] std::uint64_t bytes() const { return end_; }
  // The first write error, if any.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  static int write(void* opaque, WrittenByte* bytes, int size);
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence);

  std::unique_ptr<OutputFile> file_;
  std::uint64_t end_ = 0;
  std::optional<Error> error_;
  FfmpegPtr<AVIOContext> io_;
};

}  // namespace millrace::video
