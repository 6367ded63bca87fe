// FrameWriter: takes the frames of a video in order.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/overwrite.h"
#include "millrace/video/frame/frame.h"
#include "millrace/video/frame/written_as.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace millrace::video {

enum class VideoCodec { automatic, h264, h265, av1, vp9, ffv1, prores, gif, rawvideo };

class SideStreams;

struct WriterOptions {
  Overwrite overwrite = Overwrite::no;  // replace an existing file; it stays until the new one is finished
  // Automatic means: .mp4, .mov: h264; .mkv: h264, or ffv1 (lossless) if h264 cannot encode the frames;
  // .webm: vp9; .gif: gif
  VideoCodec codec = VideoCodec::automatic;
  // Threads the encoder may use. With more than 1, the encoder makes its own pool.
  int encoder_threads = 1;
  // Constant quality, if the codec supports it: smaller is better, 0 is best. None: visually lossless.
  std::optional<int> crf;
  std::optional<std::int64_t> bitrate;  // bits per second, instead of constant quality
  std::string preset;                   // encoder preset (size against time); empty: the default
  // Options of FFmpeg's encoder, by its names. They override all others.
  std::vector<std::pair<std::string, std::string>> encoder_options;
  // FFmpeg's name of the pixel format given to the encoder; empty: that of the frames.
  std::string pixel_format;
  SharedProperties properties;  // properties of the whole video; may be null
  // The other streams of the input. They go into containers that can hold them.
  std::shared_ptr<SideStreams> side_streams;
  // If the file cannot be completed, keep the frames written so far, provided that they make a valid file.
  bool keep_part = true;
  // The same frames and options give the same bytes: the file gets no unique id and no FFmpeg version.
  bool reproducible = false;
  // Interrupts opening a named pipe that has no reader. Does not affect later writes.
  std::stop_token stop;
};

// Takes frames of one format in order. Use it from one thread at a time; cancel() may be called from any.
class FrameWriter {
 public:
  FrameWriter() = default;
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;
  // Without finish(), the unfinished file is removed.
  virtual ~FrameWriter() = default;

  // The frame must have the format given to open_writer(). After an error, every further call returns the
  // same error.
  [[nodiscard]] virtual Status write(const Frame& frame) = 0;
  // Like write(), but takes ownership: a writer that can reuse the frame's memory keeps it.
  [[nodiscard]] virtual Status write_and_keep(Frame frame) { return write(frame); }

  // Completes the output and gives the file its name. Call it after a failed run or write, too. Then it keeps
  // the part written so far if that is a valid file and WriterOptions::keep_part is set; otherwise it fails.
  // Must be the last call.
  [[nodiscard]] virtual Status finish() = 0;

  // Features of the frames that the output cannot store, a few words each: "frame times". Call it from the
  // thread of write().
  [[nodiscard]] virtual std::vector<std::string> not_kept() const { return {}; }

  // The codec is known from the start, the size after finish().
  [[nodiscard]] virtual WrittenAs written_as() const { return {}; }

  // Frames accepted without error.
  [[nodiscard]] virtual std::int64_t frames_written() const = 0;

  // The approximate number of frames that write() takes at the start before it waits for any: the encoder's
  // lookahead.
  [[nodiscard]] virtual std::int64_t frames_ahead() const { return 0; }

  // Whether write() does almost no work and never makes the caller wait.
  [[nodiscard]] virtual bool is_immediate() const { return false; }

  // Interrupts a write() that waits for a pipe. Later calls fail as interrupted, too.
  virtual void cancel() {}
  // Like cancel(), but only for waits that last longer than this.
  virtual void cancel_after(std::chrono::milliseconds) {}
};

}  // namespace millrace::video
