// What FFmpeg says while it reads and decodes. Much of what it finds wrong is told by a message alone.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace millrace::video {

// Hears the errors of the decoders and demuxers whose `opaque` points to it, in whatever thread they are
// said, from construction to destruction. FFmpeg has one place for messages in the whole process: while this
// room reads videos nothing is printed there.
class FfmpegMessages {
 public:
  struct Message {
    std::int64_t at = 0;     // a decoder's packet, by reordered_opaque; a demuxer's place in the file
    bool concealed = false;  // of a decoder: a part of the picture is made up
    bool left_out = false;   // of a demuxer: a part of a playlist is not read
    std::string text;        // one line
  };

  FfmpegMessages();
  FfmpegMessages(const FfmpegMessages&) = delete;
  FfmpegMessages& operator=(const FfmpegMessages&) = delete;
  ~FfmpegMessages();

  // What was said since the last call. Any thread.
  [[nodiscard]] std::vector<Message> take();

  void add(Message message);

 private:
  std::mutex mutex_;
  std::vector<Message> messages_;
};

// Loads FFmpeg, makes it silent for the whole process, and its messages heard. Comes before anything else is
// asked of it, wherever an error can be told.
[[nodiscard]] Status hear_ffmpeg();

}  // namespace millrace::video
