#include "millrace/video/join.h"

#include "millrace/video/coded/coded_kinds.h"
#include "millrace/video/ffmpeg_backend.h"

namespace millrace::video {

Status check_joined_name(const std::string& output) {
  if (container_of(output) != nullptr) return {};
  return usage_error("{}: parts can only be joined into .mkv, .mp4, .mov or .webm", output);
}

Result<JoinedFile> join_videos(const JoinedVideo& video, const std::string& output,
                               const JoinOptions& options) {
  if (Status known = check_joined_name(output); !known) return std::unexpected(known.error());
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->join_videos(video, output, options);
}

Result<std::int64_t> reordering_of(const std::string& file) {
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->reordering_of(file);
}

}  // namespace millrace::video
