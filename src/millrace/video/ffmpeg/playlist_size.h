// PlaylistSize: what FFmpeg's demuxer needs for a playlist of HLS.
//
//   const PlaylistSize size = playlist_size("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n");
//   // size.playlists == 1
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::video {

struct PlaylistSize {
  std::size_t playlists = 0;  // other playlists that it names
  std::size_t bytes = 0;      // memory, about
};

[[nodiscard]] constexpr bool is_playlist(std::string_view text) { return text.starts_with("#EXTM3U"); }

// FFmpeg keeps a record of each part, with a copy of its whole address and of the address of its key.
[[nodiscard]] PlaylistSize playlist_size(std::string_view text, std::size_t bytes_of_folder);

}  // namespace millrace::video
