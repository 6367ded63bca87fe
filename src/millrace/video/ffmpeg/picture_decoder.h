// PictureDecoder: decodes the intact pictures of a video and records what was lost between them.
#pragma once

#include "millrace/base/error/result.h"
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

// Packets are numbered in reading order, and the decoder returns the number with each picture. Packets are
// kept until two later keyframes are delivered, so that pictures not delivered yet can be decoded again.
//
// A multithreaded decoder reports damage late, in part, or only by a message. At the first sign of damage, a
// single-threaded decoder decodes the same packets again, and only its verdict counts.
//
// A decoder that fails at a packet drops the picture that it was about to return. Then decoding is repeated
// up to that packet. All pictures before it are good. Pictures after it may refer to lost ones, until a
// keyframe that does not, or until a whole gradual refresh has been decoded.
//
// A video that begins between two keyframes has lost the pictures before. That is not treated as damage,
// whatever OnDamage says, because no program could decode these pictures.
class PictureDecoder {
 public:
  // `demuxer` must outlive this object.
  PictureDecoder(Demuxer& demuxer, const ReaderOptions& options) : demuxer_(demuxer), options_(options) {}

  [[nodiscard]] Status open();

  // Moves to the next good picture; false at the end.
  [[nodiscard]] Result<bool> next();

  // Valid until the next call of next().
  [[nodiscard]] AVFrame& picture() { return *picture_; }
  // The frame rate stated in the bitstream; 0 if none.
  [[nodiscard]] AVRational coded_frame_rate() const { return coded_frame_rate_; }
  [[nodiscard]] const Losses& losses() const { return losses_; }

 private:
  struct Packet {
    std::int64_t number = 0;
    FfmpegPtr<AVPacket> data;
    bool key = false;
    bool entry = false;  // a key packet from which on every picture can be decoded
    bool delivered = false;
    bool lost = false;
    std::optional<std::string> damage;  // shown by the container or a checksum
    std::optional<std::string> gap;     // why packets may be missing before it
  };
  // The first defect. All good pictures before it are delivered first.
  struct Damage {
    std::int64_t at = 0;  // packet number
    bool itself = true;   // the packet itself is damaged, not only the data before it
    std::string what;
  };
  // A run of missing pictures, up to the next good one.
  struct Hole {
    bool at_start = false;            // at the start of the video, because earlier pictures are missing
    std::optional<std::int64_t> key;  // number of the key packet at which pictures may be good again
    // Number of the key packet that begins a gradual refresh, if decoding began there. The encoder's count of
    // its pictures can be too short, but it is over when the next one begins.
    std::optional<std::int64_t> refresh;
    std::int64_t lost = 0;            // packets that gave no picture
    std::vector<std::int64_t> shown;  // presentation times of the packets since, if known
  };
  enum class Verdict { deliver, drop, stop };

  [[nodiscard]] bool heed_messages();
  [[nodiscard]] Verdict judge();
  [[nodiscard]] bool is_good(std::int64_t number) const;
  [[nodiscard]] bool is_shown_before(const Packet& packet, std::int64_t number);
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
  std::vector<std::uint8_t> headers_;  // of a raw bitstream
  AVRational coded_frame_rate_{0, 1};

  std::deque<Packet> packets_;  // enough to decode everything not delivered yet
  std::int64_t first_ = 0;      // number of packets_.front()
  std::int64_t next_ = 0;       // number of the next packet to decode
  std::int64_t last_key_ = 0;   // number of the last keyframe delivered
  std::size_t kept_bytes_ = 0;
  bool can_decode_again_ = true;  // false once too many packets had to be kept
  bool at_end_ = false;           // of the file
  std::optional<std::string> wrong_at_end_;

  // About the current session, since it began or was flushed.
  std::set<std::int64_t> doubtful_;               // packets it complained about
  std::optional<std::int64_t> session_key_time_;  // time of its first key packet
  bool begins_good_ = false;                      // starts at a packet known to be good

  std::int64_t delivered_ = 0;
  std::int64_t last_doubt_ = -1;  // number of the last packet that a multithreaded decoder complained about
  int doubts_ = 0;
  bool only_intra_ = true;  // all pictures so far are intra-coded
  bool has_b_pictures_ = false;
  bool every_packet_is_key_ = false;
  bool seen_key_packet_ = false;
  bool lenient_ = false;  // ignore errors that only the decoder reports
  std::optional<Hole> hole_;
  bool last_hole_at_start_ = false;
  std::optional<std::int64_t> last_dts_;  // of the packets read, in units of the stream
  std::optional<Damage> damage_;
  std::optional<std::int64_t> first_lost_time_;  // in units of the stream
  std::optional<Error> broken_;                  // memory ran out
  bool is_animated_webp_ = false;
  Losses losses_;
};

}  // namespace millrace::video
