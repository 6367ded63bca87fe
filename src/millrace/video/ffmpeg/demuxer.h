// Demuxer: reads the video packets of a file and checks each for damage. Packets of other streams pass
// unchecked.
#pragma once

#include "millrace/base/error/result.h"
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

// Use it from one thread at a time; call cancel() from any.
class Demuxer {
 public:
  // Reads the headers. Errors name the file. Packets of other streams go to `side`, if given.
  [[nodiscard]] static Result<std::unique_ptr<Demuxer>> open(std::unique_ptr<InputFile> file,
                                                             std::shared_ptr<SideStreams> side = nullptr);

  enum class Outcome { packet, end };
  struct Read {
    Outcome outcome = Outcome::end;
    FfmpegPtr<AVPacket> packet;
    std::optional<std::string> damage;  // of the packet, or of the end of the file
    std::optional<std::string> gap;     // why packets may be missing before this one, which is intact
  };
  // Returns the next packet of the video, even if it is damaged.
  [[nodiscard]] Read read();

  // Seeks to an entry (see entry_packets.h) that is shown at `time` or before, in units of the stream; to the
  // start if there is none. Returns false, with nothing changed, if that is impossible.
  [[nodiscard]] bool seek(std::int64_t time);
  // Estimates the number of video packets from the part read so far. Interlaced H.264 may have two packets
  // per frame. None for pipes, for files that grew since they were opened, and after seek().
  [[nodiscard]] std::optional<std::int64_t> packets_expected() const;
  // Where the file's clock ran back so far. All times here are on the continuous clock (see clock_jumps.h).
  [[nodiscard]] const std::vector<ClockJumps::Jump>& clock_jumps() const { return clock_.jumps(); }
  // The loop count of an animation, if stated (see loop_count.h).
  [[nodiscard]] std::optional<std::uint32_t> loop_count() const { return loop_count_; }
  // Whether all packets of the video have been read. May be true too early, but is never true too late
  // unless an edit list hides the last packets.
  [[nodiscard]] bool may_have_all_video() const {
    return (!ahead_.empty() && ahead_.back().outcome == Outcome::end) || has_all_video();
  }
  // Reads on as long as sound is missing.
  void complete_side_streams();

  [[nodiscard]] AVFormatContext& container() { return *container_; }
  [[nodiscard]] AVStream& stream() { return *stream_; }
  // Whether this is a raw bitstream of H.264 or HEVC: no timestamps and no probing.
  [[nodiscard]] bool is_elementary() const { return elementary_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Why the file could not be read, as opposed to damage in its content.
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
  [[nodiscard]] bool seek_container(std::int64_t time);
  [[nodiscard]] bool finds_key_before(std::int64_t time);
  [[nodiscard]] std::int64_t latest_shown(const AVPacket& packet) const;
  [[nodiscard]] bool begin_again();
  void forget_place(std::int64_t time);
  [[nodiscard]] bool may_do_without_side() const;
  [[nodiscard]] bool has_all_video() const;
  [[nodiscard]] bool follows_last(const AVPacket& packet) const;
  [[nodiscard]] std::optional<std::string> message_before(std::optional<std::int64_t> position);
  void check_checksums(Read& read);
  void heed_flags(Read& read);
  void heed_flags_of_parts(Read& read);

  std::string name_;
  FfmpegMessages messages_;  // before the container, which logs until it is closed
  InputBridge bridge_;       // before the container, which reads from it
  NamedFiles named_;         // before the container, which opens files by it
  FfmpegPtr<AVFormatContext> container_;
  std::shared_ptr<SideStreams> side_;  // null: other streams are not read, or no longer
  AVStream* stream_ = nullptr;
  bool elementary_ = false;
  bool looks_behind_ = false;                // damage after a packet makes the packet doubtful, too
  bool has_checksums_ = false;               // FFV1 only: set at the first packet with valid checksums
  std::size_t packets_ = 0;                  // read so far
  std::size_t packets_since_seek_ = 0;       // read since the last seek
  std::optional<std::int64_t> first_time_;   // decoding time of the first packet read
  std::optional<std::int64_t> sought_time_;  // target of the last successful seek
  std::optional<Error> unreadable_;          // why no program can read the file
  std::optional<std::int64_t> last_dts_;     // of the last packet read
  std::int64_t bytes_read_ = 0;              // file position after the last packet read
  bool sought_ = false;                      // after a seek: packets_ no longer covers all of bytes_read_
  bool clock_may_jump_ = false;
  bool decoding_times_are_guessed_ = false;
  bool has_one_clock_ = false;  // known to have one continuous clock
  ClockJumps clock_;
  std::deque<FfmpegPtr<AVPacket>> unplaced_;    // read, but not yet placed on the continuous clock
  int unplaced_end_ = 0;                        // FFmpeg's code for the end of reading
  std::vector<std::int64_t> joints_;            // positions at which a whole part begins, not yet reached
  int until_key_ = 0;                           // a keyframe must be among so many packets (HLS)
  bool next_is_doubtful_ = false;               // something may be missing in the next packet (HLS)
  std::deque<Read> ahead_;                      // read, but not yet delivered
  std::vector<FfmpegMessages::Message> heard_;  // about positions whose packets are not read yet
  std::optional<std::uint64_t> expected_size_;  // file size stated in the file itself
  std::optional<std::uint32_t> loop_count_;
};

}  // namespace millrace::video
