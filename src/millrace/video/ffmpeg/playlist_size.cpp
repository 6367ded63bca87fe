#include "millrace/video/ffmpeg/playlist_size.h"

namespace millrace::video {

PlaylistSize playlist_size(std::string_view text, std::size_t bytes_of_folder) {
  // FFmpeg's own records, with what the allocator adds.
  constexpr std::size_t bytes_of_part = 256;
  constexpr std::size_t bytes_of_playlist = 16 << 10;
  constexpr std::string_view ends_of_line("\r\n\0", 3);
  PlaylistSize size{.bytes = text.size()};
  std::size_t key = 0;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(ends_of_line);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("#EXT-X-STREAM-INF:") || line.starts_with("#EXT-X-MEDIA:")) {
      ++size.playlists;
      size.bytes += bytes_of_playlist;
    } else if (line.starts_with("#EXT-X-KEY:")) {
      key = bytes_of_folder + line.size();
    } else if (line.starts_with("#EXTINF:") || line.starts_with("#EXT-X-MAP:")) {
      size.bytes += bytes_of_part + bytes_of_folder + key;
    }
  }
  return size;
}

}  // namespace millrace::video
