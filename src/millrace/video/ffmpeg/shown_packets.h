// ShownPackets: of the packets of a stream those that belong to a copy of what is shown.
//
//   ShownPackets shown(container, stream);
//   for (FfmpegPtr<AVPacket>& packet : shown.add(std::move(read)))
//     write(std::move(packet));
//   for (FfmpegPtr<AVPacket>& packet : shown.end())
//     write(std::move(packet));
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::video {

// An edit list hides parts of a stream: a beep over a name, what was cut away. A demuxer delivers hidden
// packets too, so that a decoder can begin, and marks them. In a copy they would be heard again.
//
// What an encoder put before the first sample of sound stays, marked: the decoder needs it, and the output's
// own edit list hides it. A packet that is hidden in part is shortened where its samples are bare. Otherwise
// it is left out, but for the last one of a track, whose rest is what its encoder filled up. Lossy codecs
// code each packet's sound together with that of the next: the one before hidden sound would be decoded to an
// echo of it, and is left out as well.
class ShownPackets {
 public:
  // Before the first packet.
  ShownPackets(const AVFormatContext& container, const AVStream& stream);

  // What can be written now, in the order of the stream; the last packets of sound are held back until it is
  // known what is shown behind them.
  [[nodiscard]] std::vector<FfmpegPtr<AVPacket>> add(FfmpegPtr<AVPacket> packet);
  // Nothing more comes: what was held back.
  [[nodiscard]] std::vector<FfmpegPtr<AVPacket>> end();
  // The stream is read again, from its beginning or another place.
  void begin_anew();

  // Shown sound in packets that were left out, in units of the stream.
  [[nodiscard]] std::int64_t sound_left_out() const { return sound_left_out_; }
  // Packets left out because they refer to hidden ones.
  [[nodiscard]] std::int64_t packets_left_out() const { return packets_left_out_; }

 private:
  void end_shown_at(std::int64_t time);
  [[nodiscard]] FfmpegPtr<AVPacket> from(FfmpegPtr<AVPacket> packet, std::int64_t hidden);
  [[nodiscard]] FfmpegPtr<AVPacket> until(FfmpegPtr<AVPacket> packet, std::int64_t time) const;

  // Of the stream.
  bool sound_;
  bool refers_;    // its packets refer to each other
  bool edited_;    // its container has edit lists
  bool overlaps_;  // a packet of sound is decoded to part of what the next one has
  AVRational time_base_;
  int rate_;
  int bare_bytes_;                        // of a sample of all channels, where nothing is coded
  std::int64_t encoder_delay_;            // samples, at most
  std::optional<std::int64_t> list_end_;  // of what its edit list shows, in units of the time base
  std::int64_t packets_in_file_;          // 0: not known
  bool shown_to_end_ = false;             // up to the last packet of the track, from the first shown on

  // Packets without a duration last as long: the demuxer has none for the last packet of an edit.
  std::int64_t longest_ = 0;
  std::int64_t seen_ = 0;
  bool hid_since_ = false;  // the last that is shown
  // Of a later edit the demuxer leaves out a packet that begins before it, and moves the rest forward by what
  // is lost, which is less than that packet lasts: so much earlier may end what is shown.
  std::int64_t last_hidden_ = 0;
  std::int64_t moved_forward_ = 0;
  bool shown_ = false;    // any packet
  bool priming_ = false;  // what is hidden before the first is the encoder's delay
  bool needs_key_ = false;
  std::int64_t to_hide_ = 0;  // of what comes, in samples, where that is no encoder's delay
  std::vector<FfmpegPtr<AVPacket>> held_;
  std::int64_t sound_left_out_ = 0;
  std::int64_t packets_left_out_ = 0;
};

// Whether an edit list hides all of it.
[[nodiscard]] inline bool is_hidden(const AVPacket& packet) {
  return (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
}

// Bytes of a sample of all channels of sound whose samples are bare; 0 of any other.
[[nodiscard]] int bare_sample_bytes(const AVCodecParameters& codec);

}  // namespace millrace::video
