#include "millrace/video/ffmpeg/picture_decoder.h"

#include <algorithm>
#include <utility>

namespace millrace::video {

Status PictureDecoder::open() {
  AVStream& stream = demuxer_.stream();
  const std::string& name = demuxer_.name();
  const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
  if (codec == nullptr)
    return failure("{}: FFmpeg has no decoder for its video ({}); convert it to H.264 or FFV1", name,
                   avcodec_get_name(stream.codecpar->codec_id));
  decoder_.reset(avcodec_alloc_context3(codec));
  packet_.reset(av_packet_alloc());
  picture_.reset(av_frame_alloc());
  if (!decoder_ || !packet_ || !picture_ ||
      avcodec_parameters_to_context(decoder_.get(), stream.codecpar) < 0)
    return failure("{}: out of memory", name);
  decoder_->pkt_timebase = stream.time_base;
  decoder_->thread_count = options_.decoder_threads;
  // Damage is an error. What is concealed all the same is flagged in the picture, and so is what refers to
  // pictures that the stream does not hold.
  decoder_->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
  decoder_->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  // Unprobed, H.264 must reorder by what its level allows, not by a guess that grows while frames go
  // missing.
  if (demuxer_.is_elementary()) decoder_->strict_std_compliance = FF_COMPLIANCE_STRICT;
  const int opened = avcodec_open2(decoder_.get(), codec, nullptr);
  if (opened < 0)
    return failure("{}: the decoder {} cannot be opened ({})", name, codec->name, ffmpeg_message(opened));
  const AVCodecDescriptor* properties = avcodec_descriptor_get(codec->id);
  every_packet_is_key_ = properties != nullptr && (properties->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
  hole_ = Hole{.at_start = true};
  return {};
}

bool PictureDecoder::is_good(const AVFrame& picture) const {
  return (picture.flags & AV_FRAME_FLAG_CORRUPT) == 0 && picture.decode_error_flags == 0;
}

// Whether no picture that was lost is shown before the one in picture_, which the decoder held back when it
// met the damage. Without timestamps that is known of streams that do not reorder: an encoder that uses B
// pictures at all has used one within the 16 pictures that H.264 and HEVC can hold back.
bool PictureDecoder::precedes_damage() const {
  if (damage_timestamp_ && picture_->best_effort_timestamp != AV_NOPTS_VALUE)
    return picture_->best_effort_timestamp < *damage_timestamp_;
  return (only_intra_ && picture_->pict_type == AV_PICTURE_TYPE_I) || (!has_b_pictures_ && delivered_ > 16);
}

// Whether a good picture that was decoded behind the beginning of the hole refers to nothing lost.
bool PictureDecoder::may_follow_hole(std::int64_t number) const {
  return hole_->at_start || (hole_->key && number >= *hole_->key);
}

Result<bool> PictureDecoder::next() {
  for (;;) {
    const bool was_draining = draining_;
    const int received = avcodec_receive_frame(decoder_.get(), picture_.get());
    if (received == 0) {
      const std::int64_t number = picture_->reordered_opaque;
      const bool before_hole = !hole_ || number < hole_->from;
      if (!is_good(*picture_)) {
        const bool for_lack_of_others = (picture_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || !seen_key_packet_;
        if (before_hole || (hole_->at_start && !for_lack_of_others)) {
          note_damage("the picture is incomplete", number);
          if (damage_) return damaged(*damage_);
        }
        throw_away_picture();
        continue;
      }
      if (!before_hole && !may_follow_hole(number)) {
        throw_away_picture();
        continue;
      }
      if (damage_ && !precedes_damage()) return damaged(*damage_);
      if (!before_hole) close_hole(false);
      only_intra_ = only_intra_ && picture_->pict_type == AV_PICTURE_TYPE_I;
      has_b_pictures_ = has_b_pictures_ || picture_->pict_type == AV_PICTURE_TYPE_B;
      ++delivered_;
      return true;
    }
    if (received != AVERROR_EOF && received != AVERROR(EAGAIN))
      note_damage(ffmpeg_message(received), packets_ - 1);
    if (received != AVERROR(EAGAIN) && was_draining) {
      // The decoder has given what it had; one that fails at its end may do so for ever.
      if (damage_) return damaged(*damage_);
      if (at_end_) return ended();
      avcodec_flush_buffers(decoder_.get());
      draining_ = false;  // on with the next key frame
    }
    feed();
  }
}

// Gives the decoder one packet, or the order to drain.
void PictureDecoder::feed() {
  while (!draining_) {
    if (damage_ || at_end_ || !read_packet()) break;
    decoder_->reordered_opaque = packets_ - 1;
    const int sent = avcodec_send_packet(decoder_.get(), packet_.get());
    if (sent >= 0) return;
    // With threads of the decoder's own it is an earlier packet that failed.
    note_damage(ffmpeg_message(sent),
                std::max<std::int64_t>(0, packets_ - 1 - (options_.decoder_threads - 1)));
  }
  if (!draining_) {
    draining_ = true;
    avcodec_send_packet(decoder_.get(), nullptr);
  }
}

// The next packet to decode; false at the end of what can be used, and where the decoder must be drained
// first.
bool PictureDecoder::read_packet() {
  for (;;) {
    Demuxer::Read read = demuxer_.read(*packet_);
    if (read.outcome == Demuxer::Outcome::end) {
      at_end_ = true;
      if (read.damage) note_damage(*std::move(read.damage), packets_);
      return false;
    }
    const std::int64_t number = packets_++;
    const bool key = every_packet_is_key_ || (packet_->flags & AV_PKT_FLAG_KEY) != 0;
    if (hole_ && packet_->pts != AV_NOPTS_VALUE) hole_->shown.push_back(packet_->pts);
    if (read.damage) {
      note_damage(*std::move(read.damage), number);
      if (damage_ || draining_) return false;
      continue;
    }
    if (packet_->dts != AV_NOPTS_VALUE) last_dts_ = packet_->dts;
    if (hole_ && !hole_->at_start && !hole_->key) {
      if (!key) {
        ++hole_->seen;
        continue;
      }
      hole_->key = number;
    }
    if (hole_ && hole_->at_start && !seen_key_packet_ && !key) {
      // References to what came before are no damage, and not until the next key frame.
      lenient_ = true;
      if (decoder_->codec_id == AV_CODEC_ID_HEVC) {  // whose decoder makes up what is missing, without a word
        ++hole_->seen;
        continue;
      }
    }
    if (key && delivered_ > 0) lenient_ = false;
    decoder_->err_recognition =
        lenient_ ? decoder_->err_recognition & ~AV_EF_EXPLODE : decoder_->err_recognition | AV_EF_EXPLODE;
    seen_key_packet_ = seen_key_packet_ || key;
    return true;
  }
}

// Something is wrong with a packet that was read, or with what should have followed the last one.
void PictureDecoder::note_damage(std::string what, std::int64_t packet) {
  if (damage_) return;
  const bool with_packet = !at_end_ && packet_->size > 0;
  if (hole_ && hole_->at_start && with_packet && !seen_key_packet_ &&
      (packet_->flags & AV_PKT_FLAG_KEY) == 0) {
    ++hole_->seen;  // nothing to be done with it for lack of what came before
    return;
  }
  if (options_.on_damage == OnDamage::stop || demuxer_.read_error()) {
    damage_ = std::move(what);
    if (demuxer_.is_elementary()) return;
    // Nothing decoded later is shown earlier than it is decoded.
    if (with_packet && packet_->pts != AV_NOPTS_VALUE)
      damage_timestamp_ = packet_->pts;
    else if (!with_packet && last_dts_)
      damage_timestamp_ = *last_dts_ + 1;
    return;
  }
  if (losses_.first_damage.empty()) losses_.first_damage = fmt::format("frame {}: {}", delivered_, what);
  if (!hole_) {
    hole_ = Hole{.from = packet, .opened_at = packets_};
    if (with_packet && packet_->pts != AV_NOPTS_VALUE) hole_->shown.push_back(packet_->pts);
  }
  hole_->from = std::min(hole_->from, packet);
  hole_->at_start = false;
  hole_->key.reset();
  if (packet < packets_) ++hole_->seen;
  if (!draining_) {
    draining_ = true;
    avcodec_send_packet(decoder_.get(), nullptr);
  }
}

// The picture at hand is damaged or refers to what is lost.
void PictureDecoder::throw_away_picture() {
  const std::int64_t number = picture_->reordered_opaque;
  if (number > hole_->from || hole_->at_start) ++hole_->seen;  // the first of a hole is counted already
  if (number < hole_->opened_at && picture_->best_effort_timestamp != AV_NOPTS_VALUE)
    hole_->shown.push_back(picture_->best_effort_timestamp);
}

// The picture at hand is good again, or the video ends.
void PictureDecoder::close_hole(bool at_end) {
  std::int64_t lost = hole_->seen;
  const std::int64_t shown = picture_->best_effort_timestamp;
  if (!hole_->shown.empty() && (at_end || shown != AV_NOPTS_VALUE)) {
    // By what should have been shown before it: a decoder may drop pictures without a word.
    std::ranges::sort(hole_->shown);
    const auto repeated = std::ranges::unique(hole_->shown);
    hole_->shown.erase(repeated.begin(), repeated.end());
    lost = at_end ? std::ssize(hole_->shown)
                  : std::ranges::lower_bound(hole_->shown, shown) - hole_->shown.begin();
  }
  (hole_->at_start ? losses_.at_start : losses_.damaged) += lost;
  hole_.reset();
}

Result<bool> PictureDecoder::ended() {
  const bool nothing = hole_ && delivered_ == 0 && packets_ > 0;
  if (hole_) close_hole(true);
  if (nothing && losses_.damaged == 0)
    return failure(
        "{}: none of its {} pictures can be decoded: they refer to others from before the file begins, and "
        "there is no key frame; give the video from a key frame on",
        demuxer_.name(), packets_);
  if (nothing) return failure("{}: every picture is damaged: {}", demuxer_.name(), losses_.first_damage);
  return false;
}

std::unexpected<Error> PictureDecoder::damaged(const std::string& what) const {
  if (const auto& error = demuxer_.read_error())
    return std::unexpected(Error{error->kind, fmt::format("frame {}: {}", delivered_, error->message)});
  return failure("{}: frame {}: is damaged or truncated: {}; --on-damage skip goes on behind it",
                 demuxer_.name(), delivered_, what);
}

}  // namespace millrace::video
