#include "millrace/video/ffmpeg/picture_decoder.h"

#include "millrace/video/ffmpeg/entry_packets.h"
#include "millrace/video/ffmpeg/h264_pictures.h"
#include "millrace/video/ffmpeg/versions.h"

#include <algorithm>
#include <string_view>
#include <utility>

extern "C" {
#include <libavcodec/bsf.h>
}

namespace millrace::video {
namespace {

// Limit of the compressed video kept between two keyframes. Beyond it, damage also costs pictures still in
// the decoder.
constexpr std::size_t max_kept_bytes = std::size_t{256} << 20;
// If a decoder keeps complaining about an intact video, stay with a single thread.
constexpr int max_doubts = 4;
// How far to search a raw bitstream for codec headers if it starts after them.
constexpr std::size_t max_bytes_to_headers = std::size_t{64} << 20;

// Animated WebP files say so at the start, in the container's extended header.
bool begins_animated_webp(const AVPacket& packet, AVCodecID codec) {
  constexpr std::size_t flags_at = 20;
  constexpr std::uint8_t animation = 2;
  const std::string_view bytes(reinterpret_cast<const char*>(packet.data),
                               static_cast<std::size_t>(packet.size));
  return codec == AV_CODEC_ID_WEBP && bytes.size() > flags_at && bytes.starts_with("RIFF") &&
         bytes.substr(8, 8) == "WEBPVP8X" && (packet.data[flags_at] & animation) != 0;
}

}  // namespace

Status PictureDecoder::open() {
  if (demuxer_.is_elementary()) find_headers();
  auto session = DecoderSession::open(demuxer_, options_.decoder_threads, headers_);
  if (!session) return std::unexpected(std::move(session.error()));
  session_ = *std::move(session);
  picture_.reset(av_frame_alloc());
  if (!picture_) return failure("{}: out of memory", demuxer_.name());
  const AVCodecDescriptor* properties = avcodec_descriptor_get(session_->context().codec_id);
  every_packet_is_key_ = properties != nullptr && (properties->props & AV_CODEC_PROP_INTRA_ONLY) != 0;
  hole_ = Hole{.at_start = true};
  return {};
}

Result<bool> PictureDecoder::next() {
  for (;;) {
    if (broken_) return std::unexpected(*broken_);
    const int received = session_->receive(*picture_);
    if (heed_messages()) continue;
    if (received == 0) {
      switch (judge()) {
      case Verdict::deliver:
        return true;
      case Verdict::stop:
        return damaged(damage_->what);
      case Verdict::drop:
        break;
      }
    } else if (received == AVERROR(EAGAIN)) {
      feed();
    } else if (received == AVERROR_EOF) {
      if (auto end = drained()) return *std::move(end);
    } else if (session_->is_draining() && !session_->has_threads()) {
      // A decoder that fails while draining may fail for ever.
      if (!damage_) note_damage(end_number(), ffmpeg_message(received), false, false);
      if (auto end = drained()) return *std::move(end);
    } else {
      failed(received);
    }
  }
}

// --- packets in

// Sends the decoder one packet, or the order to drain.
void PictureDecoder::feed() {
  for (;;) {
    if (damage_ && next_ >= damage_->at) break;
    if (next_ == end_number()) {
      if (!at_end_) read_packet();
      if (next_ == end_number()) {
        if (!wrong_at_end_) break;
        note_damage(next_, *std::exchange(wrong_at_end_, std::nullopt), false, false);
        continue;
      }
    }
    Packet& packet = *find(next_);
    if (!prepare(packet)) continue;
    if (lenient_ && session_->has_threads())
      return decode_again(1);  // with threads, it treats everything as an error
    ++next_;
    const int sent = session_->send(*packet.data, packet.number, lenient_ || packet.delivered);
    if (sent < 0 && !heed_messages()) failed(sent);
    return;
  }
  session_->drain();
}

void PictureDecoder::read_packet() {
  Demuxer::Read read = demuxer_.read();
  if (read.outcome == Demuxer::Outcome::end) {
    at_end_ = true;
    wrong_at_end_ = std::move(read.damage);
    return;
  }
  if (!read.damage && read.packet->dts != AV_NOPTS_VALUE) last_dts_ = read.packet->dts;
  is_animated_webp_ =
      is_animated_webp_ || begins_animated_webp(*read.packet, demuxer_.stream().codecpar->codec_id);
  Packet packet{.number = end_number()};
  packet.key = every_packet_is_key_ || (read.packet->flags & AV_PKT_FLAG_KEY) != 0;
  packet.entry = every_packet_is_key_ || is_entry(*read.packet, *demuxer_.stream().codecpar);
  if (packet.key && demuxer_.is_elementary() && headers_.empty()) keep_headers(*read.packet);
  kept_bytes_ += static_cast<std::size_t>(read.packet->size);
  packet.data = std::move(read.packet);
  packet.damage = std::move(read.damage);
  packet.gap = std::move(read.gap);
  packets_.push_back(std::move(packet));
  if (kept_bytes_ > max_kept_bytes && first_ < next_) {
    can_decode_again_ = false;
    const auto later_key = std::ranges::find_if(packets_, [&](const Packet& each) {
      return (each.key && each.number > first_) || each.number == next_;
    });
    forget_before(later_key == packets_.end() ? end_number() : later_key->number);
  }
}

// If the stream was cut just after its headers, the next headers in the stream apply.
void PictureDecoder::find_headers() {
  while (headers_.empty() && !at_end_ && kept_bytes_ < max_bytes_to_headers)
    read_packet();
}

// Containers store the headers that a decoder needs to start anywhere. A raw bitstream may contain them only
// once.
void PictureDecoder::keep_headers(const AVPacket& packet) {
  AVBSFContext* filter = nullptr;
  if (av_bsf_alloc(av_bsf_get_by_name("extract_extradata"), &filter) < 0) return;
  FfmpegPtr<AVPacket> copy(av_packet_clone(&packet));
  if (copy && avcodec_parameters_copy(filter->par_in, demuxer_.stream().codecpar) >= 0 &&
      av_bsf_init(filter) >= 0 && av_bsf_send_packet(filter, copy.get()) >= 0 &&
      av_bsf_receive_packet(filter, copy.get()) >= 0) {
    std::size_t size = 0;
    const std::uint8_t* data = av_packet_get_side_data(copy.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (data != nullptr) headers_.assign(data, data + size);
  }
  av_bsf_free(&filter);
}

// Whether a key picture and its successors may refer to earlier pictures, as in open groups of pictures.
// HEVC's decoder handles that by itself.
bool PictureDecoder::refers_back(const Packet& key) const {
  return session_->context().codec_id == AV_CODEC_ID_H264 &&
         !begins_idr_picture(*key.data, *demuxer_.stream().codecpar);
}

// Whether to send the packet at next_. If not, next_ or the record of damage has changed.
bool PictureDecoder::prepare(Packet& packet) {
  const bool is_behind_damage = hole_ && !hole_->at_start && !hole_->key;
  const bool seeks_key = is_behind_damage && !hole_->refresh;
  if (packet.gap && !seeks_key) {
    note_damage(packet.number, *std::exchange(packet.gap, std::nullopt), false, false);
    return false;
  }
  if (packet.damage && !seeks_key) {
    note_damage(packet.number, *packet.damage, true, false);
    if (packet.lost) ++next_;  // not damage: earlier pictures are missing
    return false;
  }
  // Packets hidden by an edit list are decoded but never shown.
  const bool hidden = (packet.data->flags & AV_PKT_FLAG_DISCARD) != 0;
  if (hole_ && !hidden && packet.data->pts != AV_NOPTS_VALUE) hole_->shown.push_back(packet.data->pts);
  if (seeks_key) {
    if (!packet.key || packet.damage) {
      lose(packet.number);
      ++next_;
      return false;
    }
    (packet.entry ? hole_->key : hole_->refresh) = last_key_ = packet.number;
    forget_before(packet.number);
    lenient_ = refers_back(packet);
    if (hole_->refresh) lose(packet.number);
  } else if (is_behind_damage) {
    // Pictures are whole from the next refresh on. Those before are decoded but not delivered.
    if (packet.key && packet.number > *hole_->refresh) {
      hole_->key = packet.number;
      lenient_ = refers_back(packet);
    } else {
      lose(packet.number);
    }
  } else if (packet.key && hole_ && hole_->at_start && !seen_key_packet_) {
    lenient_ = lenient_ || refers_back(packet);
  } else if (packet.key && !hole_ && !packet.delivered) {
    lenient_ = false;
  }
  if (hole_ && hole_->at_start && !seen_key_packet_ && !packet.key) {
    // Until the next keyframe, references to earlier pictures are not damage.
    lenient_ = true;
    // HEVC's decoder silently invents missing pictures.
    if (session_->context().codec_id == AV_CODEC_ID_HEVC) {
      lose(packet.number);
      ++next_;
      return false;
    }
  }
  if (packet.key && !session_key_time_) session_key_time_ = packet.data->pts;
  seen_key_packet_ = seen_key_packet_ || packet.key;
  return true;
}

// --- what the decoder says

// Whether a message made the decoder start again.
bool PictureDecoder::heed_messages() {
  for (const FfmpegMessages::Message& message : session_->messages()) {
    const Packet* packet = find(message.at);
    if (packet != nullptr && (packet->delivered || packet->lost))
      continue;  // a repeated packet whose references are missing
    if (!session_->has_threads() && (!message.concealed || packet == nullptr)) continue;
    // Pictures shown before the first keyframe refer to pictures that were never in the stream.
    if (is_leading(packet) || (!session_->has_threads() && lenient_)) {
      doubtful_.insert(message.at);
      continue;
    }
    if (session_->has_threads()) {
      last_doubt_ = std::max(last_doubt_, message.at);
      doubt();
    } else {
      note_damage(message.at, "the picture is incomplete", true, true);
    }
    return true;
  }
  return false;
}

void PictureDecoder::failed(int code) {
  if (session_->has_threads()) {
    last_doubt_ = std::max(last_doubt_, next_ - 1);
    doubt();
    return;
  }
  const Packet* packet = find(next_ - 1);
  if (packet != nullptr && (packet->delivered || packet->lost))
    return;  // a repeated packet whose references are missing
  if (hole_ && is_leading(packet))
    lose(next_ - 1);
  else
    note_damage(next_ - 1, ffmpeg_message(code), true, true);
}

// Something may be wrong. Only a decoder without threads can tell.
void PictureDecoder::doubt() {
  ++doubts_;
  if (can_decode_again_) return decode_again(1);
  const auto oldest = std::ranges::find_if(packets_, [](const Packet& each) { return !each.delivered; });
  note_damage(oldest == packets_.end() ? next_ - 1 : oldest->number, "a picture is incomplete", true, true);
}

// Whether the picture is shown before the first keyframe of the session.
bool PictureDecoder::is_leading(const Packet* packet) const {
  return packet != nullptr && session_key_time_ && *session_key_time_ != AV_NOPTS_VALUE &&
         packet->data->pts != AV_NOPTS_VALUE && packet->data->pts < *session_key_time_;
}

// Whether the packet is known to be shown before the one with this number.
bool PictureDecoder::is_shown_before(const Packet& packet, std::int64_t number) {
  const Packet* later = find(number);
  return later != nullptr && packet.data->pts != AV_NOPTS_VALUE && later->data->pts != AV_NOPTS_VALUE &&
         packet.data->pts < later->data->pts;
}

bool PictureDecoder::is_good(std::int64_t number) const {
  // If the session starts at a packet known to be good, "corrupt" only means that the decoder missed its
  // beginning.
  const bool incomplete = (picture_->flags & AV_FRAME_FLAG_CORRUPT) != 0 && !begins_good_;
  return !incomplete && picture_->decode_error_flags == 0 && !doubtful_.contains(number);
}

// Whether no lost picture is shown before the one in picture_. Without timestamps, that holds for pictures
// returned before draining, and for streams that do not reorder. H.264 and HEVC hold back at most 16
// pictures, so an encoder that uses B pictures has used one by then.
bool PictureDecoder::precedes_damage() const {
  if (first_lost_time_ && picture_->best_effort_timestamp != AV_NOPTS_VALUE)
    return picture_->best_effort_timestamp < *first_lost_time_;
  return !session_->is_draining() || (only_intra_ && picture_->pict_type == AV_PICTURE_TYPE_I) ||
         (!has_b_pictures_ && delivered_ > 16);
}

PictureDecoder::Verdict PictureDecoder::judge() {
  std::int64_t number = number_of(*picture_);
  Packet* packet = find(number);
  // FFmpeg's decoder of animated WebP leaves the first packet's number in every picture.
  if (packet != nullptr && packet->delivered && picture_->pts != packet->data->pts) {
    const auto own = std::ranges::find_if(packets_, [&](const Packet& each) {
      return !each.delivered && each.data->pts != AV_NOPTS_VALUE && each.data->pts == picture_->pts;
    });
    if (own != packets_.end()) {
      packet = &*own;
      number = own->number;
    }
  }
  // A picture once counted as lost stays lost.
  if (packet != nullptr && (packet->delivered || packet->lost)) return Verdict::drop;
  if (!is_good(number)) {
    const bool for_lack_of_others =
        (picture_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || !seen_key_packet_ || is_leading(packet);
    if (for_lack_of_others && (hole_ || is_leading(packet)))
      lose(number);
    else if (session_->has_threads())
      doubt();
    else
      note_damage(number, "the picture is incomplete", true, true);
    return Verdict::drop;
  }
  if (hole_ && !hole_->at_start && (!hole_->key || number < *hole_->key)) {
    lose(number);
    return Verdict::drop;
  }
  if (hole_ && hole_->refresh && packet != nullptr && is_shown_before(*packet, *hole_->key)) {
    lose(number);
    return Verdict::drop;
  }
  if (damage_ && stops() && !precedes_damage()) return Verdict::stop;
  deliver(packet);
  return Verdict::deliver;
}

void PictureDecoder::deliver(Packet* packet) {
  const bool was_hole = hole_.has_value();
  if (hole_) close_hole(false);
  coded_frame_rate_ = session_->context().framerate;
  only_intra_ = only_intra_ && picture_->pict_type == AV_PICTURE_TYPE_I;
  has_b_pictures_ = has_b_pictures_ || picture_->pict_type == AV_PICTURE_TYPE_B;
  ++delivered_;
  if (packet == nullptr) return;
  packet->delivered = true;
  if (!packet->key || picture_->pict_type != AV_PICTURE_TYPE_I) return;
  // Pictures shown after a keyframe do not need earlier ones. But an H.264 decoder complains if it has seen
  // fewer pictures than it may refer to, so start one keyframe earlier.
  const std::int64_t number = packet->number;
  const std::int64_t earlier = std::exchange(last_key_, number);
  forget_before(was_hole ? number : earlier);
  can_decode_again_ = true;
  if (options_.decoder_threads > 1 && !session_->has_threads() && !damage_ && !lenient_ &&
      packets_.front().delivered && last_doubt_ < number && doubts_ < max_doubts)
    decode_again(options_.decoder_threads);
}

// --- damage

bool PictureDecoder::stops() const { return options_.on_damage == OnDamage::stop || demuxer_.read_error(); }

// Records damage of a packet, or of the data that should precede it.
void PictureDecoder::note_damage(std::int64_t number, std::string what, bool itself, bool decode_again) {
  const Packet* packet = find(number);
  if (hole_ && hole_->at_start && !seen_key_packet_ && packet != nullptr && !packet->key) {
    if (itself) lose(number);  // useless without the missing earlier pictures
    return;
  }
  if (damage_ && damage_->at <= number) return;
  damage_ = Damage{.at = number, .itself = itself, .what = std::move(what)};
  if (stops() && !demuxer_.is_elementary()) first_lost_time_ = first_time_from(number);
  if (!decode_again) return;
  if (can_decode_again_)
    this->decode_again(1);
  else
    session_->drain();
}

// Earliest presentation time of the packets from this number on. No packet is shown before it is decoded.
std::optional<std::int64_t> PictureDecoder::first_time_from(std::int64_t number) {
  constexpr std::int64_t held_back = 32;  // more than any decoder
  std::optional<std::int64_t> before;
  for (const Packet& packet : packets_)
    if (packet.number < number && packet.data->dts != AV_NOPTS_VALUE) before = packet.data->dts;
  std::optional<std::int64_t> first;
  for (std::int64_t each = number; each < number + held_back; ++each) {
    if (each >= end_number() && !at_end_) read_packet();
    const Packet* packet = find(each);
    if (packet == nullptr) break;
    const AVPacket& data = *packet->data;
    if (first && data.dts != AV_NOPTS_VALUE && data.dts >= *first) break;
    if (data.pts != AV_NOPTS_VALUE) first = std::min(first.value_or(data.pts), data.pts);
    if (packet->gap && before) return *before + 1;  // the content of the gap is unknown
  }
  if (at_end_ && find(number) == nullptr) {
    if (!before) before = last_dts_;
    if (before) return *before + 1;
  }
  return first;
}

// Called once the decoder has returned all pictures.
std::optional<Result<bool>> PictureDecoder::drained() {
  if (!damage_) return ended();
  if (stops()) return damaged(damage_->what);
  go_on_behind(*std::exchange(damage_, std::nullopt));
  return std::nullopt;
}

void PictureDecoder::go_on_behind(const Damage& damage) {
  if (losses_.first_damage.empty())
    losses_.first_damage = fmt::format("frame {}: {}", delivered_, damage.what);
  if (!hole_) hole_ = Hole{};
  hole_->at_start = false;
  hole_->key.reset();
  hole_->refresh.reset();
  if (damage.itself) lose(damage.at);
  next_ = damage.at + (damage.itself ? 1 : 0);
  forget_before(next_);
  session_->flush();
  doubtful_.clear();
  session_key_time_.reset();
  begins_good_ = false;
}

// Starts again at the first packet kept.
void PictureDecoder::decode_again(int threads) {
  next_ = first_;
  doubtful_.clear();
  session_key_time_.reset();
  begins_good_ = !packets_.empty() && packets_.front().delivered;
  if (hole_ && hole_->at_start) seen_key_packet_ = lenient_ = false;
  if (!session_->has_threads() && threads == 1) return session_->flush();
  auto session = DecoderSession::open(demuxer_, threads, headers_);
  if (session)
    session_ = *std::move(session);
  else
    broken_ = session.error();
}

void PictureDecoder::lose(std::int64_t number) {
  Packet* packet = find(number);
  if (packet == nullptr || packet->lost) return;
  packet->lost = true;
  if (hole_) {
    ++hole_->lost;
    if (packet->data->pts != AV_NOPTS_VALUE) hole_->shown.push_back(packet->data->pts);
  } else {
    ++(last_hole_at_start_ ? losses_.at_start : losses_.damaged);
  }
}

// Called when a picture is good again or the video ends.
void PictureDecoder::close_hole(bool at_end) {
  std::int64_t lost = hole_->lost;
  const std::int64_t shown = picture_->best_effort_timestamp;
  if (!hole_->shown.empty() && (at_end || shown != AV_NOPTS_VALUE)) {
    // Count by presentation times, because a decoder may silently drop pictures.
    std::ranges::sort(hole_->shown);
    const auto repeated = std::ranges::unique(hole_->shown);
    hole_->shown.erase(repeated.begin(), repeated.end());
    lost = at_end ? std::ssize(hole_->shown)
                  : std::ranges::lower_bound(hole_->shown, shown) - hole_->shown.begin();
  }
  (hole_->at_start ? losses_.at_start : losses_.damaged) += lost;
  last_hole_at_start_ = hole_->at_start;
  hole_.reset();
}

Result<bool> PictureDecoder::ended() {
  const bool nothing = hole_ && delivered_ == 0 && end_number() > 0;
  if (hole_) close_hole(true);
  if (nothing && losses_.damaged == 0 && end_number() == 1)  // usually a still picture
    return failure("{}: its only picture cannot be decoded; it is damaged or truncated", demuxer_.name());
  if (nothing && losses_.damaged == 0)
    return failure("{}: none of its {} pictures can be decoded: they refer to frames before the beginning of "
                   "the file, and there is no keyframe; give the video from a keyframe on",
                   demuxer_.name(), end_number());
  if (nothing && is_animated_webp_) return damaged("");
  if (nothing) return failure("{}: every picture is damaged: {}", demuxer_.name(), losses_.first_damage);
  return false;
}

std::unexpected<Error> PictureDecoder::damaged(const std::string& what) const {
  if (is_animated_webp_ && delivered_ == 0)
    return failure(
        "{}: is an animated WebP, which this FFmpeg cannot decode; make another kind of file of it, as by "
        "magick FILE OUT.gif",
        demuxer_.name());
  if (const auto& error = demuxer_.read_error())
    return std::unexpected(Error{error->kind, fmt::format("frame {}: {}", delivered_, error->message)});
  return failure("{}: frame {}: is damaged or truncated: {}; --on-damage skip continues after it",
                 demuxer_.name(), delivered_, what);
}

// --- packets kept

PictureDecoder::Packet* PictureDecoder::find(std::int64_t number) {
  if (number < first_ || number >= end_number()) return nullptr;
  return &packets_[static_cast<std::size_t>(number - first_)];
}

void PictureDecoder::forget_before(std::int64_t number) {
  while (first_ < number && !packets_.empty()) {
    kept_bytes_ -= static_cast<std::size_t>(packets_.front().data->size);
    packets_.pop_front();
    ++first_;
  }
}

}  // namespace millrace::video
