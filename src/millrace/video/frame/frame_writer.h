// What takes the frames of a video, one after the other.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

enum class VideoCodec { automatic, h264, ffv1 };

struct WriterOptions {
  Overwrite overwrite = Overwrite::no;  // an existing file; what is there stays until the new one is finished
  VideoCodec codec = VideoCodec::automatic;  // .mp4: h264; .mkv: ffv1, which is lossless
  // Threads the encoder may use. More than 1 makes a pool of the encoder's own.
  int encoder_threads = 1;
  int crf = 18;  // of H.264, 0 to 51: constant quality, smaller is better; 18 looks like the original
  std::string preset = "veryfast";  // of libx264: size against time
  // Makes opening a named pipe that nobody reads fail as interrupted; without effect on what is written.
  std::stop_token stop;
};

// Takes frames of one format in order. One thread at a time; cancel() from any.
class FrameWriter {
 public:
  FrameWriter() = default;
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;
  // Without finish() the unfinished file is removed.
  virtual ~FrameWriter() = default;

  // The frame has the format given to open_writer(). After an error every further call gives the same error.
  [[nodiscard]] virtual Status write(const Frame& frame) = 0;

  // Makes the output complete and gives the file its name. Also to be called after a failed run, or a failed
  // write: it leaves what was written up to there where that makes a valid file, and else fails. The last
  // call to make.
  [[nodiscard]] virtual Status finish() = 0;

  // What the frames had and the output has no place for, a few words each: "frame times". In the thread of
  // write().
  [[nodiscard]] virtual std::vector<std::string> not_kept() const { return {}; }

  // Frames that were taken without error.
  [[nodiscard]] virtual std::int64_t frames_written() const = 0;

  // Makes a write() that waits for a pipe, and later ones, fail as interrupted.
  virtual void cancel() {}
};

}  // namespace millrace::video
