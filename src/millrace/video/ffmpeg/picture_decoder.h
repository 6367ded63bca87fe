// PictureDecoder: the good pictures of a video, and what was lost between them.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/decoder_session.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace millrace::video {

// Packets are numbered as they are read, and the decoder hands each picture its packet's number back. They
// are kept until two later key frames were delivered, so that what is not delivered yet can be decoded again.
//
// A decoder with several threads tells of damage late, in part, or by a message alone. At the first sign of
// it, one without threads decodes the same packets again, and only its verdict counts.
//
// A decoder that fails at a packet drops the picture that it was about to give. So it then decodes again, up
// to that packet: all that was decoded before is good, and whatever comes behind may refer to what is lost,
// until one picture does not: a key frame or recovery point.
//
// A video that begins between two key frames is one that has lost what came before, whatever is to be done
// about damage: no program could decode these pictures.
class PictureDecoder {
 public:
  // `demuxer` outlives this object.
  PictureDecoder(Demuxer& demuxer, const ReaderOptions& options) : demuxer_(demuxer), options_(options) {}

  [[nodiscard]] Status open();

  // The next good picture; false at the end.
  [[nodiscard]] Result<bool> next();

  // Valid until the next call of next().
  [[nodiscard]] AVFrame& picture() { return *picture_; }
  // As the video itself says; 0 where it does not.
  [[nodiscard]] AVRational coded_frame_rate() const { return coded_frame_rate_; }
  [[nodiscard]] const Losses& losses() const { return losses_; }

 private:
  struct Packet {
    std::int64_t number = 0;
    FfmpegPtr<AVPacket> data;
    bool key = false;
    bool delivered = false;
    bool lost = false;
    std::optional<std::string> damage;  // that the container or a checksum shows
    std::optional<std::string> gap;     // something may be missing before it
  };
  // The first thing that is wrong. Whatever came before is delivered first.
  struct Damage {
    std::int64_t at = 0;  // the packet's number
    bool itself = true;   // and not only what should stand before it
    std::string what;
  };
  // Pictures missing from there on, until a good one is shown.
  struct Hole {
    bool at_start = false;            // of the video, for lack of what came before
    std::optional<std::int64_t> key;  // number of the key packet from which on pictures may be good again
    std::int64_t lost = 0;            // packets that came to nothing
    std::vector<std::int64_t> shown;  // when the packets since would be shown, where they say so
  };
  enum class Verdict { deliver, drop, stop };

  [[nodiscard]] bool heed_messages();
  [[nodiscard]] Verdict judge();
  [[nodiscard]] bool is_good(std::int64_t number) const;
  [[nodiscard]] bool precedes_damage() const;
  [[nodiscard]] bool is_leading(const Packet* packet) const;
  [[nodiscard]] bool stops() const;
  void deliver(Packet* packet);
  void feed();
  bool prepare(Packet& packet);
  void read_packet();
  void find_headers();
  void keep_headers(const AVPacket& packet);
  [[nodiscard]] bool refers_back(const Packet& key) const;
  void failed(int code);
  [[nodiscard]] std::optional<Result<bool>> drained();
  void note_damage(std::int64_t number, std::string what, bool itself, bool decode_again);
  [[nodiscard]] std::optional<std::int64_t> first_time_from(std::int64_t number);
  void go_on_behind(const Damage& damage);
  void decode_again(int threads);
  void doubt();
  void lose(std::int64_t number);
  void close_hole(bool at_end);
  [[nodiscard]] Packet* find(std::int64_t number);
  [[nodiscard]] std::int64_t end_number() const { return first_ + std::ssize(packets_); }
  void forget_before(std::int64_t number);
  [[nodiscard]] std::unexpected<Error> damaged(const std::string& what) const;
  [[nodiscard]] Result<bool> ended();

  Demuxer& demuxer_;
  ReaderOptions options_;
  std::unique_ptr<DecoderSession> session_;
  FfmpegPtr<AVFrame> picture_;
  std::vector<std::uint8_t> headers_;  // of a bare stream
  AVRational coded_frame_rate_{0, 1};

  std::deque<Packet> packets_;  // from which all that was not delivered can be decoded
  std::int64_t first_ = 0;      // number of the first of them
  std::int64_t next_ = 0;       // to be decoded
  std::int64_t last_key_ = 0;   // number of the last key frame delivered
  std::size_t kept_bytes_ = 0;
  bool can_decode_again_ = true;  // unless they became too many
  bool at_end_ = false;           // of the file
  std::optional<std::string> wrong_at_end_;

  // Of the session since it began or was flushed.
  std::set<std::int64_t> doubtful_;               // packets that it complained about
  std::optional<std::int64_t> session_key_time_;  // of its first key packet
  bool begins_good_ = false;                      // at a packet known to be good

  std::int64_t delivered_ = 0;
  std::int64_t last_doubt_ = -1;  // number of the last packet that a decoder with threads complained about
  int doubts_ = 0;
  bool only_intra_ = true;  // of the pictures so far
  bool has_b_pictures_ = false;
  bool every_packet_is_key_ = false;
  bool seen_key_packet_ = false;
  bool lenient_ = false;  // what the decoder alone calls an error is none
  std::optional<Hole> hole_;
  bool last_hole_at_start_ = false;
  std::optional<std::int64_t> last_dts_;  // of the packets read, in units of the stream
  std::optional<Damage> damage_;
  std::optional<std::int64_t> first_lost_time_;  // in units of the stream
  std::optional<Error> broken_;                  // memory is out
  bool is_animated_webp_ = false;
  Losses losses_;
};

}  // namespace millrace::video
