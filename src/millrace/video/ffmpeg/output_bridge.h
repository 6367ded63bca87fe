// OutputBridge: where the bytes go that FFmpeg's muxers write.
#pragma once

#include "millrace/base/output_file.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace millrace::video {

// Takes what FFmpeg writes into an OutputFile, and keeps the first error. Stays at its address while FFmpeg
// uses it.
class OutputBridge {
 public:
  explicit OutputBridge(std::unique_ptr<OutputFile> file);
  OutputBridge(const OutputBridge&) = delete;
  OutputBridge& operator=(const OutputBridge&) = delete;
  ~OutputBridge() = default;

  // Null where memory is out.
  [[nodiscard]] AVIOContext* io() { return io_.get(); }
  [[nodiscard]] OutputFile& file() { return *file_; }
  // Up to the end of the file, without what FFmpeg still has.
  [[nodiscard]] std::uint64_t bytes() const { return end_; }
  // Why writing failed, once it did.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  static int write(void* opaque, std::uint8_t* bytes, int size);
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence);

  std::unique_ptr<OutputFile> file_;
  std::uint64_t end_ = 0;
  std::optional<Error> error_;
  FfmpegPtr<AVIOContext> io_;
};

}  // namespace millrace::video
