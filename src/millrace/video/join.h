// Joins encoded videos by packet copy.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"
#include "millrace/video/frame/written_as.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

// A file that holds part of a video, encoded with the same settings as the others.
struct VideoPart {
  std::string file;
  std::int64_t frames = 0;  // it must hold just so many
};

struct JoinedVideo {
  FrameFormat format;               // of all frames
  std::vector<VideoPart> parts;     // in order
  std::vector<std::int64_t> times;  // of all frames in the order they are shown, by a PresentationClock
  std::int64_t shift = 0;           // of that clock
  SharedProperties properties;      // of the whole video; may be null
  // What is beside the video in this file goes along; empty: nothing.
  std::string side_file;
  bool audio = true;  // of it
};

struct JoinOptions {
  Overwrite overwrite = Overwrite::no;
  std::stop_token stop;
};

struct JoinedFile {
  std::vector<std::string> not_kept;  // what of the side file is not in the output, a few words each
  WrittenAs written_as;
};

// Writes `output`, of a kind that open_writer() knows and that can hold what the parts hold. No frame is
// decoded. The output has exactly the frames of the parts at exactly the times given, or does not come to be:
// failure that names the part where one is damaged, has other settings or another number of frames.
[[nodiscard]] Result<JoinedFile> join_videos(const JoinedVideo& video, const std::string& output,
                                             const JoinOptions& options = {});

// The usage errors of join_videos() that its output's name alone tells.
[[nodiscard]] Status check_joined_name(const std::string& output);

// How many frames later at most a frame is decoded than it would be in the order they are shown. Of one part.
[[nodiscard]] Result<std::int64_t> reordering_of(const std::string& file);

}  // namespace millrace::video
