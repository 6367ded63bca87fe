// FfmpegMessages: collects FFmpeg's log messages during reading and decoding. FFmpeg reports many errors only
// there.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace millrace::video {

// From construction to destruction, collects the errors of the codecs and demuxers whose `opaque` points to
// it or to about() a packet, from any thread. FFmpeg has a single log callback per process.
class FfmpegMessages {
 public:
  struct Message {
    std::int64_t at = 0;         // decoder: packet number, see about(); demuxer: position in the file
    bool concealed = false;      // decoder: part of the picture is concealed
    bool left_out = false;       // demuxer: part of a playlist is not read
    bool outside = false;        // demuxer: a track is in another file and is not read
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

  // A decoder's `opaque` from now on: its messages are about the packet of this number. FFmpeg hands `opaque`
  // to the thread that decodes the packet. A number is kept until 256 packets later, far more than threads.
  [[nodiscard]] void* about(std::int64_t number);
  // The number that `opaque`, of this object, stands for; 0 if it is the object itself.
  [[nodiscard]] std::int64_t number_at(const void* opaque) const;

 private:
  std::array<std::atomic<std::int64_t>, 256> numbers_{};
  std::mutex mutex_;
  std::vector<Message> messages_;
};

// While it exists, all that this thread makes FFmpeg log counts as this module's own. FFmpeg's scalers and
// some others say nothing about whose they are.
class OwnFfmpegCalls {
 public:
  OwnFfmpegCalls();
  OwnFfmpegCalls(const OwnFfmpegCalls&) = delete;
  OwnFfmpegCalls& operator=(const OwnFfmpegCalls&) = delete;
  ~OwnFfmpegCalls();
};

// Whose process this is: a program of this project, where FFmpeg's other messages are dropped, or one that
// has loaded this project as a library. That one's messages go to FFmpeg's default callback, and its log
// level stays. FFmpeg does not tell which callback there was before.
enum class FfmpegHost { own_program, other_program };

// Installs the log callback of the process. Must precede every other use of FFmpeg.
void hear_ffmpeg(FfmpegHost whose);

}  // namespace millrace::video
