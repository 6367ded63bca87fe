// PictureDecoder: the good pictures of a video, and what was lost between them.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::video {

// Packets are numbered as they are read, and the decoder hands each picture its packet's number back. So it
// is known which pictures were decoded before a damaged packet (they are good, whenever they are shown) and
// which after it (they may refer to what is missing, until one does not: a key frame or recovery point).
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
  [[nodiscard]] const AVCodecContext& decoder() const { return *decoder_; }
  [[nodiscard]] const Losses& losses() const { return losses_; }

 private:
  // Pictures missing from a packet on, until a good one is shown.
  struct Hole {
    std::int64_t from = 0;            // number of the first packet lost
    bool at_start = false;            // of the video, for lack of what came before
    std::int64_t opened_at = 0;       // packets read by then
    std::optional<std::int64_t> key;  // number of the key packet from which on pictures may be good again
    std::int64_t seen = 0;            // pictures and packets thrown away
    std::vector<std::int64_t> shown;  // when the packets since would be shown, where they say so
  };

  [[nodiscard]] bool is_good(const AVFrame& picture) const;
  [[nodiscard]] bool precedes_damage() const;
  [[nodiscard]] bool may_follow_hole(std::int64_t number) const;
  [[nodiscard]] std::int64_t number_of(const AVFrame& picture) const;
  void feed();
  [[nodiscard]] bool read_packet();
  void note_damage(std::string what, std::int64_t packet);
  void throw_away_picture();
  void close_hole(bool at_end);
  [[nodiscard]] std::unexpected<Error> damaged(const std::string& what) const;
  [[nodiscard]] Result<bool> ended();

  Demuxer& demuxer_;
  ReaderOptions options_;
  FfmpegPtr<AVCodecContext> decoder_;
  FfmpegPtr<AVPacket> packet_;
  FfmpegPtr<AVFrame> picture_;

  std::int64_t packets_ = 0;  // read so far; the number of the next one
  std::int64_t delivered_ = 0;
  bool at_end_ = false;     // of the packets
  bool draining_ = false;   // the decoder gives what it has and takes no more
  bool only_intra_ = true;  // of the pictures so far
  bool has_b_pictures_ = false;
  bool every_packet_is_key_ = false;
  bool seen_key_packet_ = false;
  bool lenient_ = false;                  // what the decoder alone calls an error is none
  std::optional<std::int64_t> last_dts_;  // of the packets read, in units of the stream
  std::optional<Hole> hole_;
  // Where damage ends the video.
  std::optional<std::string> damage_;
  std::optional<std::int64_t> damage_timestamp_;  // of the first picture lost, in units of the stream
  Losses losses_;
};

}  // namespace millrace::video
