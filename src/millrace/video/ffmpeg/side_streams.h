// SideStreams: carries the other streams of an input file into the output file.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/packet_spill.h"
#include "millrace/video/ffmpeg/shown_packets.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace millrace::video {

// A Demuxer fills it while reading and a writer empties it while writing, each in its own thread. The queue
// is bounded: beyond max_waiting_bytes, the reading thread makes the writer take some packets. Before its
// first frame a writer cannot take any, so the packets beyond wait in a temporary file.
//
// Times are on the input's clock, like those of the frames. Code that moves one must move the other, so that
// both stay in step.
class SideStreams {
 public:
  // In memory. Compressed data: minutes of any kind of sound.
  static constexpr std::size_t max_waiting_bytes = std::size_t{16} << 20;

  struct SideData {
    AVPacketSideDataType type;
    std::vector<std::uint8_t> bytes;
  };
  struct Stream {
    int number = 0;     // in the input
    bool main = false;  // the video whose frames are processed; its packets do not come here
    FfmpegPtr<AVCodecParameters> codec;
    AVRational time_base{0, 1};
    AVRational frame_rate{0, 1};
    AVRational aspect{0, 1};
    std::optional<std::int64_t> start;  // time of the first packet, in units of the time base
    int disposition = 0;
    FfmpegPtr<AVDictionary> metadata;
    std::vector<SideData> side_data;
    std::vector<std::uint8_t> cover;  // the picture, if that is all of the stream

    // "stream 1 (audio, aac, eng)"
    [[nodiscard]] std::string name() const;
  };
  struct Chapter {
    std::int64_t id = 0;
    AVRational time_base{0, 1};
    std::int64_t start = 0;
    std::int64_t end = 0;
    FfmpegPtr<AVDictionary> metadata;
  };
  struct Packet {
    std::size_t stream = 0;  // index into streams()
    FfmpegPtr<AVPacket> data;
  };

  // audio: copy sound too. start, end: the part of the video, in microseconds from its first frame; chapters
  // are trimmed to it. output: its folder is the first choice for the temporary file.
  explicit SideStreams(bool audio, std::optional<std::int64_t> start = std::nullopt,
                       std::optional<std::int64_t> end = std::nullopt, std::filesystem::path output = {})
      : audio_(audio), part_start_(start), part_end_(end), spill_(std::move(output)) {}
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  ~SideStreams() = default;

  // --- for the owner of the reader, in the reading thread or while nothing reads

  // Starts another pass over the file. The first frame is shown at `begin`, and all times move by `shift`;
  // `unit` is the length of their unit in seconds. Drops packets of the previous pass beyond `begin`.
  // has_window: set_window() follows.
  void begin_pass(std::int64_t begin, std::int64_t shift, AVRational unit, bool has_window);
  // Limits this pass to packets shown from `start` on and before `end`, and moves them earlier by `shift`.
  // Times are on the input's clock; `unit` is the length of their unit in seconds. Applies to packets already
  // read, too.
  void set_window(std::optional<std::int64_t> start, std::optional<std::int64_t> end, std::int64_t shift,
                  AVRational unit);
  // The frames end before the input does: drops content that is shown after the last frame. Call it from any
  // thread.
  void end_with_frames();

  // --- for the reader

  // Copies the container's description of itself. Does nothing in later passes, which have the streams of the
  // first.
  void describe(const AVFormatContext& container, const AVStream& main);
  [[nodiscard]] bool takes(int number) const;
  void push(FfmpegPtr<AVPacket> packet);
  // Drops the packets of this pass, which is read again from another position.
  void forget_waiting();
  // Whether all sound up to the end of the window is read, as far as can be told if the video's next packet
  // is decoded at `time`.
  [[nodiscard]] bool is_complete(std::int64_t time, AVRational time_base) const;
  // Ends the input.
  void end_input();
  // Ends the input early, with the reason.
  void break_off(const std::string& why);

  // --- for the writer, after the reader has opened the file

  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }
  [[nodiscard]] const std::vector<Chapter>& chapters() const { return chapters_; }
  [[nodiscard]] const AVDictionary* metadata() const { return metadata_.get(); }
  // Sets a function that the reading thread calls if too many packets wait. It must take some.
  void attach(std::function<void()> relieve);
  // From now on, `relieve` is not called and new packets are dropped.
  void detach();
  // Takes the earliest packet; with a time, only one that is decoded by then (microseconds of the input's
  // clock).
  [[nodiscard]] std::optional<Packet> take(std::optional<std::int64_t> time);
  [[nodiscard]] bool is_overfull() const;
  // Counts a packet as left out because its sound is hidden in part. shown: the rest, in units of the stream.
  void leave_out(std::size_t stream, std::int64_t shown);
  [[nodiscard]] bool ends_with_frames() const;
  [[nodiscard]] std::string broken_off() const;
  // Describes content that is left out because it cannot be separated from parts that an edit list hides.
  [[nodiscard]] std::vector<std::string> left_out() const;

 private:
  // Times are in microseconds. "In": on the input's clock; "out": on the output's clock, without the writer's
  // own offset.
  struct Pass {
    bool ready = true;  // the window is known
    std::optional<std::int64_t> begin_out;
    std::int64_t shift = 0;
    AVRational shift_unit{1, 1};
    std::optional<std::int64_t> start_in;
    std::optional<std::int64_t> end_in;
    std::int64_t window_shift = 0;  // moves times earlier
    AVRational window_unit{1, 1};
    // By number in streams_: streams whose packets before the first one written were dropped, and the time
    // from which on packets are written, in units of the stream.
    std::set<std::size_t> dropped;
    std::map<std::size_t, std::int64_t> begun;
  };
  [[nodiscard]] std::optional<std::size_t> find(int number) const;
  void add(std::size_t stream, std::vector<FfmpegPtr<AVPacket>> packets);
  void add_held_back();
  void queue(WaitingPacket waiting);
  void fill_up();
  void note_spill_error(const Status& status);
  void note_late(const AVPacket& packet);
  [[nodiscard]] std::int64_t moved(const Pass& pass, std::int64_t time, AVRational time_base) const;
  [[nodiscard]] bool is_wanted(const WaitingPacket& packet) const;
  [[nodiscard]] bool is_taken(const WaitingPacket& packet);
  [[nodiscard]] std::optional<std::int64_t> first_time(std::size_t stream);

  void add_chapter(const AVChapter& chapter, std::int64_t first_frame);
  void advance_timecodes(const AVStream& main);

  const bool audio_;
  const std::optional<std::int64_t> part_start_;
  const std::optional<std::int64_t> part_end_;
  bool described_ = false;
  // Written before the writer starts, constant afterwards.
  std::vector<Stream> streams_;
  std::vector<Chapter> chapters_;
  FfmpegPtr<AVDictionary> metadata_;
  int described_streams_ = 0;  // streams of the container, including unwanted ones

  std::mutex relieving_;  // taken before mutex_
  std::function<void()> relieve_;
  mutable std::mutex mutex_;  // guards all members below
  std::vector<Pass> passes_{Pass{}};
  std::vector<ShownPackets> shown_;                 // by stream
  std::vector<std::int64_t> left_out_;              // by stream, by the writer
  std::vector<std::int64_t> without_entry_;         // packets by stream: they need dropped ones
  std::vector<std::deque<WaitingPacket>> waiting_;  // by stream
  PacketSpill spill_;                               // packets behind those in waiting_
  std::uint64_t pass_begin_ = 0;                    // spill_.end() when this pass began
  bool spill_failed_ = false;
  std::vector<std::int64_t> last_decoded_;  // by stream, in this pass
  std::size_t bytes_ = 0;                   // memory of waiting_
  std::vector<std::string> not_taken_;      // descriptions
  std::set<int> late_;                      // streams that appeared after the start
  bool detached_ = false;
  bool ends_with_frames_ = false;
  std::string broken_off_;
};

}  // namespace millrace::video
