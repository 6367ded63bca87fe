#include "millrace/video/ffmpeg/output_bridge.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace millrace::video {
namespace {

constexpr int output_buffer_bytes = 64 << 10;

}  // namespace

OutputBridge::OutputBridge(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(output_buffer_bytes));
  io_.reset(avio_alloc_context(buffer, output_buffer_bytes, 1, this, nullptr, &write,
                               file_->is_regular() ? &seek : nullptr));
}

int OutputBridge::write(void* opaque, WrittenByte* bytes, int size) {
  auto& self = *static_cast<OutputBridge*>(opaque);
  const Status written =
      self.file_->write({reinterpret_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
  if (written) {
    self.end_ = std::max(self.end_, self.file_->position());
    return size;
  }
  if (!self.error_) self.error_ = written.error();
  return AVERROR(EIO);
}

std::int64_t OutputBridge::seek(void* opaque, std::int64_t offset, int whence) {
  auto& self = *static_cast<OutputBridge*>(opaque);
  switch (whence & ~AVSEEK_FORCE) {
  case AVSEEK_SIZE:
    return static_cast<std::int64_t>(self.end_);
  case SEEK_SET:
    break;
  case SEEK_CUR:
    offset += static_cast<std::int64_t>(self.file_->position());
    break;
  case SEEK_END:
    offset += static_cast<std::int64_t>(self.end_);
    break;
  default:
    return AVERROR(EINVAL);
  }
  if (offset < 0 || !self.file_->seek(static_cast<std::uint64_t>(offset))) return AVERROR(EINVAL);
  return offset;
}

}  // namespace millrace::video
