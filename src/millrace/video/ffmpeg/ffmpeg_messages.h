// FfmpegMessages: collects FFmpeg's log messages during reading and decoding. FFmpeg reports many errors only
// there.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace millrace::video {

// From construction to destruction, collects the errors of the codecs and demuxers whose `opaque` points to
// it, from any thread. FFmpeg has a single log callback per process, so this module prints nothing while it
// reads videos.
class FfmpegMessages {
 public:
  struct Message {
    std::int64_t at = 0;         // decoder: packet number, by reordered_opaque; demuxer: position in the file
    bool concealed = false;      // decoder: part of the picture is concealed
    bool left_out = false;       // demuxer: part of a playlist is not read
    bool unused_option = false;  // encoder: an option of the user's was ignored
    std::string text;            // one line
  };

  FfmpegMessages();
  FfmpegMessages(const FfmpegMessages&) = delete;
  FfmpegMessages& operator=(const FfmpegMessages&) = delete;
  ~FfmpegMessages();

  // Returns and clears the messages since the last call. Call it from any thread.
  [[nodiscard]] std::vector<Message> take();

  void add(Message message);

 private:
  std::mutex mutex_;
  std::vector<Message> messages_;
};

// Silences FFmpeg for the whole process and installs the log callback. Must precede every other use of
// FFmpeg.
void hear_ffmpeg();

}  // namespace millrace::video
