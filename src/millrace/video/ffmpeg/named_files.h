// NamedFiles: restricts which files a playlist, such as HLS, may open, and how many.
#pragma once

#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/input_bridge.h"
#include "millrace/video/ffmpeg/playlist_size.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::video {

// Lets a demuxer open only regular files in or below the folder of the user's file: no network addresses,
// other folders or pipes. A file that is refused or cannot be opened is an error, even if FFmpeg goes on
// without it. Ends FFmpeg's own waits when the user's file is stopped.
//
// Playlists can name themselves, each other, or the same file any number of times, and FFmpeg follows all of
// it. So a playlist that another one names may name only parts of the video, and the playlists of a video
// have a limit in number and memory.
//
//   NamedFiles named(file);
//   if (Status fits = named.check(*kind); !fits) return fits;
//   named.guard(*context, options);  // before avformat_open_input()
//   ...
//   named.end_header();              // after it
//   if (named.error()) return std::unexpected(*named.error());
//
// Must not move, and must outlive the context.
class NamedFiles {
 public:
  // `file` is the user's and must outlive this object.
  explicit NamedFiles(InputFile& file) : file_(file) {}
  NamedFiles(const NamedFiles&) = delete;
  NamedFiles& operator=(const NamedFiles&) = delete;
  ~NamedFiles() = default;

  // Fails if the user's file is a playlist that names too much.
  [[nodiscard]] Status check(const AVInputFormat& demuxer);
  // Fails if the user's file, which `demuxer` or none could not open, is a playlist. FFmpeg 7 and later take
  // a file for one of HLS only if its name says so.
  [[nodiscard]] Status check_unread(const AVInputFormat* demuxer) const;
  // Adds to the options for opening the context.
  void guard(AVFormatContext& context, FfmpegPtr<AVDictionary>& options);
  // FFmpeg opens all playlists for the header. Afterwards it reads one again only in place of the old one.
  void end_header() { in_header_ = false; }
  // Whether something is missing in one of the transport streams that a playlist names, as far as they were
  // read. FFmpeg reads them as one stream, so it also takes the joints between whole ones for damage.
  [[nodiscard]] bool lack_data() const;
  // The first file that was refused, or could not be opened or read.
  [[nodiscard]] std::optional<Error> error() const;

 private:
  static int open(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                  AVDictionary** options);
  static int close(AVFormatContext* context, AVIOContext* io);
  static int is_stopped(void* self);
  [[nodiscard]] Result<std::unique_ptr<InputFile>> open(const std::string& url) const;
  [[nodiscard]] Status admit(InputFile& file);
  [[nodiscard]] Result<PlaylistSize> measured(InputFile& playlist) const;

  InputFile& file_;
  bool in_header_ = false;
  std::size_t files_ = 0;  // opened for the header
  std::size_t bytes_ = 0;  // memory that the playlists of the header need
  std::vector<std::unique_ptr<InputBridge>> opened_;
  bool closed_one_lacks_data_ = false;
  std::optional<Error> error_;
};

// Why files of this demuxer are refused, as words to follow the file's name: it opens other files in ways
// that NamedFiles cannot see. Null for all other demuxers.
[[nodiscard]] const char* why_refused(const AVInputFormat& demuxer);

}  // namespace millrace::video
