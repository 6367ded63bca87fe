// InputBridge: supplies bytes to FFmpeg's demuxers.
#pragma once

#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/transport_joints.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace millrace::video {

// Feeds FFmpeg from an InputFile, so that waits can be cancelled and read errors can be told from damage.
// Must not move while FFmpeg uses it.
class InputBridge {
 public:
  explicit InputBridge(std::unique_ptr<InputFile> file);
  InputBridge(const InputBridge&) = delete;
  InputBridge& operator=(const InputBridge&) = delete;
  ~InputBridge() = default;

  // Null if memory runs out.
  [[nodiscard]] AVIOContext* io() { return io_.get(); }
  [[nodiscard]] InputFile& file() { return *file_; }
  [[nodiscard]] const InputFile& file() const { return *file_; }
  // The first read error, if any.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // Of the bytes read so far.
  [[nodiscard]] const TransportJoints& joints() const { return joints_; }
  [[nodiscard]] bool lacks_data() const;

 private:
  static int read(void* opaque, std::uint8_t* buffer, int size);
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence);

  std::unique_ptr<InputFile> file_;
  std::optional<Error> error_;
  TransportJoints joints_;
  std::int64_t bytes_ = 0;  // read so far
  FfmpegPtr<AVIOContext> io_;
};

}  // namespace millrace::video
