// Joins encoded videos by packet copy.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/overwrite.h"
#include "millrace/video/frame/frame.h"
#include "millrace/video/frame/written_as.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

// A file that holds part of a video, encoded with the same settings as the others.
struct VideoPart {
  std::string file;
  std::int64_t frames = 0;  // must match exactly
};

struct JoinedVideo {
  FrameFormat format;                         // common to all frames
  std::vector<VideoPart> parts;               // in order
  std::vector<std::int64_t> times;            // of all frames in display order, from a PresentationClock
  std::int64_t shift = 0;                     // PresentationClock::shift()
  std::optional<std::int64_t> last_duration;  // own_duration() of the last frame
  SharedProperties properties;                // of the whole video; may be null
  // Copy the other streams of this file; empty: none.
  std::string side_file;
  bool audio = true;  // include the audio of side_file
};

struct JoinOptions {
  Overwrite overwrite = Overwrite::no;
  std::stop_token stop;
};

struct JoinedFile {
  std::vector<std::string> not_kept;  // content of side_file that the output cannot hold, a few words each
  WrittenAs written_as;
};

// Writes `output`, which must be of a kind that open_writer() knows and that can hold the parts' codec.
// Decodes no frames. The output has exactly the frames of the parts at exactly the given times; otherwise no
// output is made. Fails, naming the part, if a part is damaged, has other settings or another number of
// frames.
[[nodiscard]] Result<JoinedFile> join_videos(const JoinedVideo& video, const std::string& output,
                                             const JoinOptions& options = {});

// Reports the usage errors of join_videos() that depend on the output's name alone.
[[nodiscard]] Status check_joined_name(const std::string& output);

// Returns the largest delay, in frames, of a packet's decoding relative to display order. For a single part.
[[nodiscard]] Result<std::int64_t> reordering_of(const std::string& file);

}  // namespace millrace::video
