// ShownPackets: selects the packets of a stream that a copy of the visible and audible content needs.
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

// An edit list hides parts of a stream, such as a beep over a name or a trimmed scene. A demuxer delivers
// hidden packets too, marked, so that a decoder can start. A plain copy would make them audible again.
//
// The encoder's priming before the first sample stays, marked: the decoder needs it, and the output's own
// edit list hides it. That works only if the first sample is shown at time 0. A partly hidden packet is
// shortened if its samples are uncompressed. If the first one is coded without loss and without reference to
// others, it stays, with a note of the samples to hide at its start (see hidden_samples.h), which SideCopy
// heeds. Otherwise it is left out, except for the last packet of a track of a lossy codec, whose rest is the
// encoder's padding. Lossy codecs code the sound of each packet together with that of the next. The packet
// before hidden sound would decode to an echo of it, so it is left out too. Pictures that refer to hidden
// ones are left out too.
class ShownPackets {
 public:
  // Must be made before the first packet is read.
  ShownPackets(const AVFormatContext& container, const AVStream& stream);

  // Returns the packets that can be written now, in stream order. Holds back the last packets of sound until
  // the packets after them are known.
  [[nodiscard]] std::vector<FfmpegPtr<AVPacket>> add(FfmpegPtr<AVPacket> packet);
  // Ends the stream and returns the packets held back.
  [[nodiscard]] std::vector<FfmpegPtr<AVPacket>> end();
  // Call it if the stream is read again, from its start or another position.
  void begin_anew();

  // Duration of shown sound in packets that were left out, in units of the stream.
  [[nodiscard]] std::int64_t sound_left_out() const { return sound_left_out_; }
  // Number of packets left out because they refer to hidden ones.
  [[nodiscard]] std::int64_t packets_left_out() const { return packets_left_out_; }

 private:
  void end_shown_at(std::int64_t time);
  [[nodiscard]] bool shows_from_zero(const AVPacket& first, std::int64_t hidden) const;
  [[nodiscard]] std::int64_t coded_duration(const AVPacket& packet) const;
  [[nodiscard]] std::int64_t rounding() const;
  [[nodiscard]] bool in_fragments() const;
  [[nodiscard]] FfmpegPtr<AVPacket> from(FfmpegPtr<AVPacket> packet, std::int64_t hidden);
  [[nodiscard]] FfmpegPtr<AVPacket> until(FfmpegPtr<AVPacket> packet, std::int64_t time) const;

  // Properties of the stream.
  bool sound_;
  bool edited_;    // its container has edit lists
  bool overlaps_;  // a packet of sound also affects the decoded sound of the next one
  AVRational time_base_;
  int rate_;
  FfmpegPtr<AVCodecParameters> pictures_;  // of video, whose packets refer to each other; else null
  FfmpegPtr<AVCodecParameters> codec_;     // if edit lists apply and its packets stand alone, else null
  int bare_bytes_;                         // bytes per sample of all channels if uncompressed, else 0
  std::int64_t encoder_delay_;             // in samples, upper limit
  std::int64_t encoder_padding_;           // the same, as the codec's description states it, else 0
  std::optional<std::int64_t> list_end_;   // end of the shown part, in units of the time base
  std::int64_t packets_in_file_;           // in the header's index; of uncompressed sound, samples
  bool repeats_ = false;                   // edits show some of them twice
  bool shown_to_end_ = false;              // see is_shown_to_end()

  // Longest duration so far, for packets without one: the demuxer gives none to the last packet of an edit.
  std::int64_t longest_ = 0;
  std::int64_t shortest_ = 0;  // of those that another one follows
  std::int64_t seen_ = 0;
  bool hid_since_ = false;  // since the last shown packet
  // A later edit may start inside a packet. The demuxer drops that packet and moves the rest forward by the
  // loss, which is less than the packet's duration. The shown part may end earlier by that much.
  std::int64_t last_hidden_ = 0;
  std::int64_t moved_forward_ = 0;
  bool shown_ = false;    // whether any packet was shown
  bool priming_ = false;  // the hidden start is the encoder's delay
  bool needs_key_ = false;
  std::int64_t to_hide_ = 0;  // samples still to hide, unless they are the encoder's delay
  std::vector<FfmpegPtr<AVPacket>> held_;
  std::int64_t sound_left_out_ = 0;
  std::int64_t packets_left_out_ = 0;
};

// Whether an edit list hides the whole packet.
[[nodiscard]] inline bool is_hidden(const AVPacket& packet) {
  return (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
}

// Bytes per sample of all channels for uncompressed sound; 0 for any other codec.
[[nodiscard]] int bare_sample_bytes(const AVCodecParameters& codec);

}  // namespace millrace::video
