// SideReader: what a file has beside its video, on its way to go with frames that come from elsewhere.
//
//   auto side = make_side_streams(true);
//   auto reader = open_side_reader("in.mp4", side, {.format = format});   // `side` goes to a writer, too
//   for (frames) (*reader)->read_for(time of the frame);
//   (*reader)->finish();
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace millrace::video {

class SideStreams;

struct SideReaderOptions {
  FrameFormat format;      // of the frames, whose time base their times are in; it must have one
  std::int64_t start = 0;  // microseconds by which the times of the frames are earlier than those in the file
  std::stop_token stop;    // makes waits fail
};

// Packets of the video itself are skipped, not decoded. One thread at a time.
class SideReader {
 public:
  SideReader() = default;
  SideReader(const SideReader&) = delete;
  SideReader& operator=(const SideReader&) = delete;
  virtual ~SideReader() = default;

  // When the first frame of the file is shown, by the clock of the frames.
  [[nodiscard]] virtual std::int64_t first_time() const = 0;
  // Reads as far as is needed beside a frame that is shown at that time. What is heard before the first such
  // frame does not go with the frames.
  virtual void read_for(std::int64_t time) = 0;
  // There are no more frames. If the video has later ones, what is heard after the last frame does not go
  // with the frames; else all that is left does.
  virtual void finish() = 0;
};

// A regular file. Errors as of open_reader().
[[nodiscard]] Result<std::unique_ptr<SideReader>>
open_side_reader(const std::string& file, std::shared_ptr<SideStreams> side, SideReaderOptions options);

}  // namespace millrace::video
