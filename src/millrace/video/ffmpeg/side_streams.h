// SideStreams: what a file has beside the frames that are processed, on its way into another file.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/shown_packets.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace millrace::video {

// A Demuxer fills it while it reads, a writer empties it while it writes, each in a thread of its own. What
// is not taken yet is bounded: beyond max_waiting_bytes the thread that reads has the writer take some.
//
// Times are those of the input's clock, on which the frames are too, so both stay in step as long as whoever
// moves the one moves the other.
class SideStreams {
 public:
  // Compressed: minutes of sound of any kind.
  static constexpr std::size_t max_waiting_bytes = std::size_t{16} << 20;

  struct SideData {
    AVPacketSideDataType type;
    std::vector<std::uint8_t> bytes;
  };
  struct Stream {
    int number = 0;     // in the input
    bool main = false;  // the video whose frames are processed: it has no packets here
    FfmpegPtr<AVCodecParameters> codec;
    AVRational time_base{0, 1};
    AVRational frame_rate{0, 1};
    AVRational aspect{0, 1};
    std::optional<std::int64_t> start;  // of the first packet, in units of the time base
    int disposition = 0;
    FfmpegPtr<AVDictionary> metadata;
    std::vector<SideData> side_data;

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
    std::size_t stream = 0;  // in streams()
    FfmpegPtr<AVPacket> data;
  };

  // audio: whether sound is among what is copied. The part of the video that is taken, in microseconds from
  // its first frame on: chapters are cut to it.
  explicit SideStreams(bool audio, std::optional<std::int64_t> start = std::nullopt,
                       std::optional<std::int64_t> end = std::nullopt)
      : audio_(audio), part_start_(start), part_end_(end) {}
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  ~SideStreams() = default;

  // --- of whoever has the file read, in the thread that reads or while none does

  // A further pass over the file, whose first frame is shown at `begin`; all its times move by `shift`. What
  // the pass before has beyond is dropped. In units of so many seconds. has_window: set_window() follows.
  void begin_pass(std::int64_t begin, std::int64_t shift, AVRational unit, bool has_window);
  // Of this pass only what is shown from `start` on and before `end`, all of it earlier by `shift`. Times of
  // the input's clock, in units of so many seconds. Also of what was read already.
  void set_window(std::optional<std::int64_t> start, std::optional<std::int64_t> end, std::int64_t shift,
                  AVRational unit);
  // The frames end before the input does: what is shown later than the last of them is not wanted. Any
  // thread.
  void end_with_frames();

  // --- of the reader

  // Takes over what the container says of itself. Of a further pass nothing: its streams are those of the
  // first.
  void describe(const AVFormatContext& container, const AVStream& main);
  [[nodiscard]] bool takes(int number) const;
  void push(FfmpegPtr<AVPacket> packet);
  // What was read in this pass is read again, from another place.
  void forget_waiting();
  // Whether all sound is read up to the end of the window, so far as can be told where the video's next
  // packet is decoded at `time`.
  [[nodiscard]] bool is_complete(std::int64_t time, AVRational time_base) const;
  // The input has no more packets.
  void end_input();
  // Nothing more comes, and why.
  void break_off(const std::string& why);

  // --- of the writer, after the reader has opened the file

  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }
  [[nodiscard]] const std::vector<Chapter>& chapters() const { return chapters_; }
  [[nodiscard]] const AVDictionary* metadata() const { return metadata_.get(); }
  // Has `relieve` called by the thread that reads where too much waits: it is to take some.
  void attach(std::function<void()> relieve);
  // After this `relieve` is not called, and what comes is dropped.
  void detach();
  // The first in time, of those decoded at `time` (microseconds of the input's clock) at the latest, where
  // one is given.
  [[nodiscard]] std::optional<Packet> take(std::optional<std::int64_t> time);
  [[nodiscard]] bool is_overfull() const;
  [[nodiscard]] bool ends_with_frames() const;
  [[nodiscard]] std::string broken_off() const;
  // What of a stream is left out because it cannot be told from what an edit list hides, in words.
  [[nodiscard]] std::vector<std::string> left_out() const;

 private:
  // Times in microseconds. "In": of the input's clock; "out": of the output's, but for what its writer adds.
  struct Pass {
    bool ready = true;  // its window is known
    std::optional<std::int64_t> begin_out;
    std::int64_t shift = 0;
    AVRational shift_unit{1, 1};
    std::optional<std::int64_t> start_in;
    std::optional<std::int64_t> end_in;
    std::int64_t window_shift = 0;  // backwards
    AVRational window_unit{1, 1};
  };
  struct Waiting {
    FfmpegPtr<AVPacket> data;
    std::int64_t decoded_in = 0;  // of packets without, that of the one before
    std::size_t pass = 0;
  };

  [[nodiscard]] std::optional<std::size_t> find(int number) const;
  void add(std::size_t stream, std::vector<FfmpegPtr<AVPacket>> packets);
  void add_held_back();
  void note_late(const AVPacket& packet);
  [[nodiscard]] std::int64_t moved(const Pass& pass, std::int64_t time, AVRational time_base) const;
  [[nodiscard]] bool is_wanted(const Waiting& packet, const Stream& stream) const;
  [[nodiscard]] std::optional<std::int64_t> first_time(std::size_t stream);

  void add_chapter(const AVChapter& chapter, std::int64_t first_frame);
  void advance_timecodes(const AVStream& main);

  const bool audio_;
  const std::optional<std::int64_t> part_start_;
  const std::optional<std::int64_t> part_end_;
  bool described_ = false;
  // Written before the writer comes, unchanged since.
  std::vector<Stream> streams_;
  std::vector<Chapter> chapters_;
  FfmpegPtr<AVDictionary> metadata_;
  int described_streams_ = 0;  // of the container, wanted or not

  std::mutex relieving_;  // taken before mutex_
  std::function<void()> relieve_;
  mutable std::mutex mutex_;  // over all that follows
  std::vector<Pass> passes_{Pass{}};
  std::vector<ShownPackets> shown_;           // by stream
  std::vector<std::deque<Waiting>> waiting_;  // by stream
  std::vector<std::int64_t> last_decoded_;    // by stream, in this pass
  std::size_t bytes_ = 0;
  std::vector<std::string> not_taken_;  // in words
  std::set<int> late_;                  // streams that were not there in the beginning
  bool detached_ = false;
  bool ends_with_frames_ = false;
  std::string broken_off_;
};

}  // namespace millrace::video
