#include "millrace/video/ffmpeg/input_bridge.h"

#include <cstdio>
#include <utility>

namespace millrace::video {
namespace {

constexpr int io_buffer_bytes = 64 << 10;

}  // namespace

InputBridge::InputBridge(std::unique_ptr<InputFile> file) : file_(std::move(file)) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(io_buffer_bytes));
  io_.reset(avio_alloc_context(buffer, io_buffer_bytes, 0, this, &read, nullptr,
                               file_->is_regular() ? &seek : nullptr));
}

int InputBridge::read(void* opaque, std::uint8_t* buffer, int size) {
  auto& self = *static_cast<InputBridge*>(opaque);
  // Reading a file never waits, but a demuxer may scan all of it.
  if (self.file_->is_stopped()) {
    self.error_ = Error{ErrorKind::interrupted, self.file_->name() + ": reading was stopped"};
    return AVERROR_EXIT;
  }
  const bool regular = self.file_->is_regular();
  const auto position = regular ? static_cast<std::int64_t>(self.file_->position()) : self.bytes_;
  const auto count = self.file_->read({reinterpret_cast<std::byte*>(buffer), static_cast<std::size_t>(size)});
  if (!count) {
    self.error_ = count.error();
    return AVERROR(EIO);
  }
  self.bytes_ += static_cast<std::int64_t>(*count);
  self.joints_.see(position, {buffer, *count});
  return *count == 0 ? AVERROR_EOF : static_cast<int>(*count);
}

bool InputBridge::lacks_data() const {
  return joints_.is_damaged(static_cast<std::int64_t>(file_->size().value_or(0)));
}

std::int64_t InputBridge::seek(void* opaque, std::int64_t offset, int whence) {
  InputFile& file = *static_cast<InputBridge*>(opaque)->file_;
  const auto size = static_cast<std::int64_t>(file.size().value_or(0));
  switch (whence & ~AVSEEK_FORCE) {
  case AVSEEK_SIZE:
    return size;
  case SEEK_SET:
    break;
  case SEEK_CUR:
    offset += static_cast<std::int64_t>(file.position());
    break;
  case SEEK_END:
    offset += size;
    break;
  default:
    return AVERROR(EINVAL);
  }
  if (offset < 0 || !file.seek(static_cast<std::uint64_t>(offset))) return AVERROR(EINVAL);
  return offset;
}

}  // namespace millrace::video
