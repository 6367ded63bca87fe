// SideReader: reads the other streams of a file, to accompany frames from elsewhere.
//
//   auto side = make_side_streams(true);
//   auto reader = open_side_reader("in.mp4", side, {.format = format});   // give `side` to a writer, too
//   for (frames) (*reader)->read_for(time of the frame);
//   (*reader)->finish();
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace millrace::video {

class SideStreams;

struct SideReaderOptions {
  FrameFormat format;      // of the frames; must have a time base, which is the unit of their times
  std::int64_t start = 0;  // microseconds by which frame times are earlier than times in the file
  std::stop_token stop;    // interrupts waits
};

// Skips the packets of the video itself without decoding them. Use it from one thread at a time.
class SideReader {
 public:
  SideReader() = default;
  SideReader(const SideReader&) = delete;
  SideReader& operator=(const SideReader&) = delete;
  virtual ~SideReader() = default;

  // Presentation time of the file's first frame, on the clock of the frames.
  [[nodiscard]] virtual std::int64_t first_time() const = 0;
  // Reads everything that accompanies a frame shown at that time. Sound before the first such frame is
  // dropped.
  virtual void read_for(std::int64_t time) = 0;
  // Ends the frames. If the video goes on after them, sound after the last frame is dropped; otherwise the
  // rest is read.
  virtual void finish() = 0;
};

// `file` must be a regular file. Errors are those of open_reader().
[[nodiscard]] Result<std::unique_ptr<SideReader>>
open_side_reader(const std::string& file, std::shared_ptr<SideStreams> side, SideReaderOptions options);

}  // namespace millrace::video
