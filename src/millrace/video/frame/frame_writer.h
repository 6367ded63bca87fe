// What takes the frames of a video, one after the other.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"
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
  Overwrite overwrite = Overwrite::no;  // an existing file; what is there stays until the new one is finished
  // .mp4, .mov: h264; .mkv: h264, or ffv1 (lossless) where h264 cannot encode the frames; .webm: vp9;
  // .gif: gif
  VideoCodec codec = VideoCodec::automatic;
  // Threads the encoder may use. More than 1 makes a pool of the encoder's own.
  int encoder_threads = 1;
  // Constant quality, where the codec has it: smaller is better, 0 is best. None: what looks like the
  // original.
  std::optional<int> crf;
  std::optional<std::int64_t> bitrate;  // bits a second, in the place of constant quality
  std::string preset;                   // of the encoder, size against time; empty: the usual one
  // Of FFmpeg's encoder, by its names; they have the last word.
  std::vector<std::pair<std::string, std::string>> encoder_options;
  // FFmpeg's name of what the encoder is given; empty: the frames as they are.
  std::string pixel_format;
  SharedProperties properties;  // of the whole video; may be null
  // What a reader takes from its file beside the video: goes into files that can hold it.
  std::shared_ptr<SideStreams> side_streams;
  // Whether a file that cannot be written to its end stays with what came before, where that is valid.
  bool keep_part = true;
  // The same frames and options make the same bytes: the file has no number of its own, nor FFmpeg's.
  bool reproducible = false;
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
  // The same, of a frame that nobody else has any use for: whoever can use its memory keeps it.
  [[nodiscard]] virtual Status write_and_keep(Frame frame) { return write(frame); }

  // Makes the output complete and gives the file its name. Also to be called after a failed run, or a failed
  // write: it leaves what was written up to there where that makes a valid file and WriterOptions::keep_part
  // wants it, and else fails. The last call to make.
  [[nodiscard]] virtual Status finish() = 0;

  // What the frames had and the output has no place for, a few words each: "frame times". In the thread of
  // write().
  [[nodiscard]] virtual std::vector<std::string> not_kept() const { return {}; }

  // The codec from the beginning on, the size after finish().
  [[nodiscard]] virtual WrittenAs written_as() const { return {}; }

  // Frames that were taken without error.
  [[nodiscard]] virtual std::int64_t frames_written() const = 0;

  // Frames that it may take, from the first one on, before write() waits for the work on any: those that an
  // encoder looks ahead at. About as many.
  [[nodiscard]] virtual std::int64_t frames_ahead() const { return 0; }

  // Whether write() does next to nothing, and would keep nobody waiting.
  [[nodiscard]] virtual bool is_immediate() const { return false; }

  // Makes a write() that waits for a pipe, and later ones, fail as interrupted.
  virtual void cancel() {}
  // The same for waits that last longer than this.
  virtual void cancel_after(std::chrono::milliseconds) {}
};

}  // namespace millrace::video
