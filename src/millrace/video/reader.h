// Reading video, frame by frame.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

namespace millrace::video {

struct ReaderOptions {
  // Threads the decoder may use, the calling one included. More than 1 makes a pool of the decoder's own.
  int decoder_threads = 1;
  // Larger frames are refused, so that a damaged header cannot take all memory.
  std::size_t max_frame_bytes = std::size_t{1} << 30;
  // Makes waiting for a pipe fail as interrupted, while opening and later, as cancel() does.
  std::stop_token stop;
};

// Delivers frames in order, with index 0, 1, 2, ... and all of one format. Frames come from a pool:
// destroying them makes room for later ones. One thread at a time; cancel() from any.
class FrameReader {
 public:
  FrameReader() = default;
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  virtual ~FrameReader() = default;

  [[nodiscard]] virtual const FrameFormat& format() const = 0;

  // The next frame, or nullopt at the end. A damaged video delivers the frames before the damage, then an
  // error that says which frame is damaged and how; after the end or an error every further call gives the
  // same again.
  [[nodiscard]] virtual Result<std::optional<Frame>> next() = 0;

  // How many frames there will be, where a header says so or it follows from sizes. May be wrong.
  [[nodiscard]] virtual std::optional<std::int64_t> frame_count_hint() const { return std::nullopt; }

  // Makes a next() that waits for a pipe, and later ones, fail as interrupted.
  virtual void cancel() {}
};

// Opens, by name:
//   -                        y4m on standard input
//   test:WIDTHxHEIGHT...     generated, see test_source.h
//   anything else            a file (or named pipe): *.y4m by the parser of y4m_reader.h, others by FFmpeg
// Pixel formats without equal in FrameFormat are converted to the nearest: RGB and palettes to 4:4:4, packed,
// big-endian and semi-planar ones to their planar equivalent, 4:1:1 to 4:2:2, 4:1:0 to 4:2:0, 4:4:0 to 4:4:4;
// alpha is dropped. Errors are of usage kind for names, of failure kind for content. FFmpeg's own messages
// are silenced for the whole process: what matters in them comes as an Error.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_reader(std::string_view input,
                                                               const ReaderOptions& options = {});

}  // namespace millrace::video
