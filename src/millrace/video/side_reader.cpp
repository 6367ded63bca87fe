#include "millrace/video/side_reader.h"

#include "millrace/video/ffmpeg_backend.h"

#include <utility>

namespace millrace::video {

Result<std::unique_ptr<SideReader>>
open_side_reader(const std::string& file, std::shared_ptr<SideStreams> side, SideReaderOptions options) {
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->open_side_reader(file, std::move(side), options);
}

}  // namespace millrace::video
