// Demuxer: the packets of a file's video, each checked for being whole, and those beside it as they are.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/input_bridge.h"
#include "millrace/video/ffmpeg/named_files.h"
#include "millrace/video/ffmpeg/side_streams.h"
#include "millrace/video/frame/clock_jumps.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::video {

// One thread at a time; cancel() from any.
class Demuxer {
 public:
  // Reads headers. Errors name the file. Packets of other streams go to `side`, where there is one.
  [[nodiscard]] static Result<std::unique_ptr<Demuxer>> open(std::unique_ptr<InputFile> file,
                                                             std::shared_ptr<SideStreams> side = nullptr);

  enum class Outcome { packet, end };
  struct Read {
    Outcome outcome = Outcome::end;
    FfmpegPtr<AVPacket> packet;
    std::optional<std::string> damage;  // what is wrong with the packet, or with how the file ends
    std::optional<std::string> gap;     // why something may be missing before the packet, which is whole
  };
  // The next packet of the video, also where it is damaged.
  [[nodiscard]] Read read();

  // The next packet is of a key frame that is decoded at `time` or before, in units of the stream, so far as
  // the file tells. False, and nothing has changed, where that cannot be.
  [[nodiscard]] bool seek(std::int64_t time);
  // How many packets of the video a file has, if its rest is like what was read so far; of interlaced H.264
  // that may be twice as many as frames. None of a pipe, of what has grown since it was opened, and after
  // seek().
  [[nodiscard]] std::optional<std::int64_t> packets_expected() const;
  // Where its clock ran back so far. Times are those of one clock (see clock_jumps.h).
  [[nodiscard]] const std::vector<ClockJumps::Jump>& clock_jumps() const { return clock_.jumps(); }
  // How often it is played, where it is an animation that says so (see loop_count.h).
  [[nodiscard]] std::optional<std::uint32_t> loop_count() const { return loop_count_; }
  // Reads on, as far as sound is wanted.
  void complete_side_streams();

  [[nodiscard]] AVFormatContext& container() { return *container_; }
  [[nodiscard]] AVStream& stream() { return *stream_; }
  // Whether it is bare H.264 or HEVC: without timestamps, and not probed.
  [[nodiscard]] bool is_elementary() const { return elementary_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Why the file could not be read, as opposed to what is wrong with its content.
  [[nodiscard]] std::optional<Error> read_error() const;
  void cancel() { bridge_.file().cancel(); }

 private:
  Demuxer(std::unique_ptr<InputFile> file, std::shared_ptr<SideStreams> side)
      : name_(file->name()), bridge_(std::move(file)), named_(bridge_.file()), side_(std::move(side)) {}

  [[nodiscard]] Status open();
  [[nodiscard]] Status open_container(bool thorough);
  [[nodiscard]] bool has_unknown_sound() const;
  [[nodiscard]] Status look_at_start();
  void go_back();
  [[nodiscard]] int explained(int code, const AVPacket* packet);
  [[nodiscard]] bool knows_next() const;
  void choose_streams(int main);
  void read_ahead();
  [[nodiscard]] int read_packet(AVPacket& packet);
  [[nodiscard]] int next_of_file(AVPacket& packet);
  [[nodiscard]] bool read_unplaced();
  [[nodiscard]] std::optional<std::int64_t> time_of_next(int stream);
  [[nodiscard]] bool has_one_clock();
  [[nodiscard]] bool read_through(std::int64_t time);
  void forget_place(std::int64_t time);
  [[nodiscard]] bool may_do_without_side() const;
  [[nodiscard]] bool has_all_video() const;
  [[nodiscard]] bool follows_last(const AVPacket& packet) const;
  [[nodiscard]] std::optional<std::string> message_before(std::optional<std::int64_t> position);
  void check_checksums(Read& read);

  std::string name_;
  FfmpegMessages messages_;  // behind the container, which speaks until it is closed
  InputBridge bridge_;       // behind the container, which reads from it
  NamedFiles named_;         // behind the container, which opens them
  FfmpegPtr<AVFormatContext> container_;
  std::shared_ptr<SideStreams> side_;  // none: other streams are not read, or no longer
  AVStream* stream_ = nullptr;
  bool elementary_ = false;
  bool looks_behind_ = false;                // damage behind a packet makes it doubtful itself
  bool has_checksums_ = false;               // FFV1 only: shows by the first packet for which they hold
  std::size_t packets_ = 0;                  // read so far
  std::size_t packets_since_seek_ = 0;       // of them
  std::optional<std::int64_t> sought_time_;  // of the last seek that was one
  std::optional<Error> unreadable_;          // why what is there cannot be read by anybody
  std::optional<std::int64_t> last_dts_;     // of them
  std::int64_t bytes_read_ = 0;              // of the file, to the end of the last of them
  bool sought_ = false;                      // so that they are not all there are up to there
  bool clock_may_jump_ = false;
  bool has_one_clock_ = false;  // is known to
  ClockJumps clock_;
  std::deque<FfmpegPtr<AVPacket>> unplaced_;    // read, not yet put on the one clock
  int unplaced_end_ = 0;                        // FFmpeg's code of why no more could be read
  std::deque<Read> ahead_;                      // read, not yet delivered
  std::vector<FfmpegMessages::Message> heard_;  // of places whose packets were not read yet
  std::optional<std::uint64_t> expected_size_;  // of the file, where it says so itself
  std::optional<std::uint32_t> loop_count_;
};

}  // namespace millrace::video
