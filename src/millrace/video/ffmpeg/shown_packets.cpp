#include "millrace/video/ffmpeg/shown_packets.h"

#include "millrace/video/ffmpeg/entry_packets.h"
#include "millrace/video/ffmpeg/hidden_samples.h"

#include <algorithm>
#include <string_view>
#include <utility>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/codec_desc.h>
}

namespace millrace::video {
namespace {

bool is_lossy(AVCodecID codec) {
  const AVCodecDescriptor* const kind = avcodec_descriptor_get(codec);
  return kind != nullptr && (kind->props & AV_CODEC_PROP_LOSSY) != 0 &&
         (kind->props & AV_CODEC_PROP_LOSSLESS) == 0;
}

// Whether an edit list shows a part of the track twice.
bool repeats_parts(const AVFormatContext& container, const AVStream& stream) {
  AVStream* const indexed = container.streams[stream.index];
  std::int64_t last = -1;
  for (int i = 0; i < avformat_index_get_entries_count(indexed); ++i) {
    const AVIndexEntry* const entry = avformat_index_get_entry(indexed, i);
    if (entry == nullptr || entry->pos <= std::exchange(last, entry->pos)) return true;
  }
  return false;
}

// Whether the edit list shows a track up to its last packet and hides no packet after the first one shown.
// repeats: see repeats_parts().
bool is_shown_to_end(const AVFormatContext& container, const AVStream& stream, bool repeats) {
  // Uncompressed sound counts samples, not packets.
  if (bare_sample_bytes(*stream.codecpar) > 0 && stream.codecpar->sample_rate > 0)
    return stream.nb_frames > 0 &&
           stream.duration >=
               av_rescale_q(stream.nb_frames, {1, stream.codecpar->sample_rate}, stream.time_base);
  AVStream* const indexed = container.streams[stream.index];
  const int count = avformat_index_get_entries_count(indexed);
  // A list that repeats one part and leaves out another also has as many entries as there are packets.
  if (count == 0 || count != stream.nb_frames || repeats) return false;
  bool shown = false;
  for (int i = 0; i < count; ++i) {
    const bool hidden = (avformat_index_get_entry(indexed, i)->flags & AVINDEX_DISCARD_FRAME) != 0;
    if (hidden && shown) return false;
    shown = shown || !hidden;
  }
  return true;
}

}  // namespace

int bare_sample_bytes(const AVCodecParameters& codec) {
  const bool bare = codec.codec_id >= AV_CODEC_ID_FIRST_AUDIO && codec.codec_id < AV_CODEC_ID_ADPCM_IMA_QT;
  if (codec.codec_type != AVMEDIA_TYPE_AUDIO || !bare) return 0;
  // Not block_align, which .mov leaves 0.
  constexpr int bits_of_a_byte = 8;
  return av_get_bits_per_sample(codec.codec_id) * codec.ch_layout.nb_channels / bits_of_a_byte;
}

ShownPackets::ShownPackets(const AVFormatContext& container, const AVStream& stream)
    : sound_(stream.codecpar->codec_type == AVMEDIA_TYPE_AUDIO),
      edited_(std::string_view(container.iformat->name).starts_with("mov")),
      overlaps_(is_lossy(stream.codecpar->codec_id)), time_base_(stream.time_base),
      rate_(stream.codecpar->sample_rate), bare_bytes_(bare_sample_bytes(*stream.codecpar)),
      // HE-AAC has the longest, about 0.12 s.
      encoder_delay_(overlaps_ ? std::max(stream.codecpar->seek_preroll, rate_ / 8) : 0),
      encoder_padding_(stream.codecpar->initial_padding), packets_in_file_(stream.nb_frames) {
  if (stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO) {
    pictures_.reset(avcodec_parameters_alloc());
    if (pictures_ && avcodec_parameters_copy(pictures_.get(), stream.codecpar) < 0) pictures_.reset();
  }
  if (!edited_ || !sound_) return;
  if (stands_alone(stream.codecpar->codec_id)) {
    codec_.reset(avcodec_parameters_alloc());
    if (codec_ && avcodec_parameters_copy(codec_.get(), stream.codecpar) < 0) codec_.reset();
  }
  // The duration is the list's only if the header has the index. Edit lists do not apply to fragments, and
  // their duration is estimated.
  if (stream.duration <= 0 || in_fragments()) return;
  list_end_ = stream.duration;
  repeats_ = repeats_parts(container, stream);
  shown_to_end_ = is_shown_to_end(container, stream, repeats_);
}

std::vector<FfmpegPtr<AVPacket>> ShownPackets::add(FfmpegPtr<AVPacket> packet) {
  std::vector<FfmpegPtr<AVPacket>> ready;
  longest_ = std::max(longest_, packet->duration);
  if (edited_ && sound_ && packet->duration <= 0) packet->duration = longest_;
  if (seen_++ == 0) {
    const std::int64_t skipped = hidden_samples(*packet).at_start;
    priming_ = skipped > 0 && skipped <= encoder_delay_ &&
               (!edited_ || skipped == encoder_padding_ || shows_from_zero(*packet, skipped));
    to_hide_ = priming_ ? 0 : skipped;
  }
  // FFmpeg hides a packet of a fragment if the one before is said to last longer than it does.
  if (edited_ && sound_ && in_fragments()) packet->flags &= ~AV_PKT_FLAG_DISCARD;
  if (is_hidden(*packet)) {
    if (!shown_ && rate_ > 0) to_hide_ -= av_rescale_q(packet->duration, time_base_, {1, rate_});
    hid_since_ = true;
    last_hidden_ = packet->duration;
    needs_key_ = pictures_ != nullptr;
    if (!shown_ && priming_) ready.push_back(std::move(packet));
    return ready;
  }
  if (needs_key_ && !is_entry(*packet, *pictures_)) {
    ++packets_left_out_;
    return ready;
  }
  needs_key_ = false;
  const bool first = !std::exchange(shown_, true);
  // The demuxer does not mark every packet before the first edit of a track that begins late.
  if (to_hide_ > 0) {
    const std::int64_t hidden = to_hide_;
    to_hide_ -= packet->duration > 0 ? av_rescale_q(packet->duration, time_base_, {1, rate_}) : hidden;
    packet = from(std::move(packet), hidden);
  }
  if (!packet) {
    hid_since_ = false;
    return ready;
  }
  const bool timed = packet->pts != AV_NOPTS_VALUE && packet->duration > 0;
  if (!held_.empty() && timed) {
    const AVPacket& last = *held_.back();
    if (last.duration > 0 && (shortest_ == 0 || last.duration < shortest_)) shortest_ = last.duration;
    // Or times are rounded: those of a file copied from Matroska overlap by up to a millisecond.
    const bool overlap =
        !shown_to_end_ && !in_fragments() && packet->pts > last.pts && packet->pts < last.pts + last.duration;
    if (hid_since_ || overlap) end_shown_at(packet->pts);
    if (hid_since_ || overlap) moved_forward_ = hid_since_ && !first ? last_hidden_ : 0;
  }
  hid_since_ = false;
  held_.push_back(std::move(packet));
  const std::size_t held_back = edited_ && sound_ && timed ? 3 : 0;
  while (held_.size() > held_back) {
    ready.push_back(std::move(held_.front()));
    held_.erase(held_.begin());
  }
  return ready;
}

std::vector<FfmpegPtr<AVPacket>> ShownPackets::end() {
  std::vector<FfmpegPtr<AVPacket>> ready;
  if (!held_.empty() && list_end_ && !in_fragments()) {
    AVPacket& last = *held_.back();
    // The demuxer ends the last packet where the list ends, whatever its coded length.
    const bool may_hide_its_end = !shown_to_end_ && packets_in_file_ > 0 && bare_bytes_ == 0;
    const std::int64_t coded =
        codec_ || bare_bytes_ > 0 || may_hide_its_end ? coded_duration(last) : last.duration;
    const bool hidden_in_part =
        last.pts < *list_end_ && last.pts + coded + moved_forward_ > *list_end_ + rounding();
    if (hidden_in_part && shown_to_end_ && !codec_) {
      last.duration = *list_end_ - last.pts;
    } else if (hidden_in_part) {
      last.duration = coded;
      end_shown_at(*list_end_);
    }
  }
  for (FfmpegPtr<AVPacket>& packet : held_)
    ready.push_back(std::move(packet));
  held_.clear();
  return ready;
}

void ShownPackets::begin_anew() {
  seen_ = 0;
  to_hide_ = 0;
  moved_forward_ = 0;
  hid_since_ = shown_ = priming_ = needs_key_ = false;
  held_.clear();
}

bool ShownPackets::in_fragments() const {
  if (packets_in_file_ == 0) return true;
  // Fragments may follow an index. Of uncompressed sound it counts samples.
  return bare_bytes_ == 0 && !repeats_ && seen_ > packets_in_file_;
}

// Some programs round the length of a list down, mostly to 1/600 s. And some files have rounded times, so
// that packets which are coded alike differ in length.
std::int64_t ShownPackets::rounding() const {
  const std::int64_t most = av_rescale_q(1, {1, 600}, time_base_);
  if (!codec_) return 0;
  if (shown_to_end_) return most;
  const std::int64_t difference = shortest_ > 0 ? longest_ - shortest_ : 0;
  return difference <= most ? difference : 0;
}

// Trims the packets held back to end at `time`.
void ShownPackets::end_shown_at(std::int64_t time) {
  const std::int64_t surely_shown = time - moved_forward_;
  std::vector<FfmpegPtr<AVPacket>> held = std::exchange(held_, {});
  for (FfmpegPtr<AVPacket>& packet : held) {
    if (codec_ || bare_bytes_ > 0) packet->duration = coded_duration(*packet);
    const std::int64_t end = packet->pts + packet->duration;
    const std::int64_t heard_until = overlaps_ ? end + packet->duration : end;
    const std::int64_t shown = std::min(end, time) - packet->pts;
    if (heard_until > surely_shown) packet = until(std::move(packet), surely_shown);
    sound_left_out_ += std::max<std::int64_t>(0, shown - (packet ? packet->duration : 0));
    if (packet) held_.push_back(std::move(packet));
  }
}

// Whether the first shown sample is at time 0. Before it the list may have an empty part. The output can then
// not tell what to hide, so samples may pass for priming only if the codec says so.
bool ShownPackets::shows_from_zero(const AVPacket& first, std::int64_t hidden) const {
  const std::int64_t shown = first.pts + av_rescale_q(hidden, {1, std::max(1, rate_)}, time_base_);
  return first.pts == AV_NOPTS_VALUE || shown <= 1;
}

std::int64_t ShownPackets::coded_duration(const AVPacket& packet) const {
  if (bare_bytes_ > 0 && rate_ > 0) return av_rescale_q(packet.size / bare_bytes_, {1, rate_}, time_base_);
  const auto samples = codec_ && rate_ > 0 ? decoded_samples(*codec_, packet) : std::nullopt;
  return samples ? av_rescale_q(*samples, {1, rate_}, time_base_) : longest_;
}

// Returns the packet without its first `hidden` samples, or with a note to hide them; null if nothing is left
// or neither is possible.
FfmpegPtr<AVPacket> ShownPackets::from(FfmpegPtr<AVPacket> packet, std::int64_t hidden) {
  const std::int64_t in_units = av_rescale_q(hidden, {1, rate_}, time_base_);
  if (codec_ && hidden < decoded_samples(*codec_, *packet) && hide_samples(*packet, {.at_start = hidden}))
    return packet;
  if (bare_bytes_ == 0 || hidden >= packet->size / bare_bytes_) {
    sound_left_out_ += std::max<std::int64_t>(0, packet->duration - in_units);
    return nullptr;
  }
  packet->data += hidden * bare_bytes_;
  packet->size -= static_cast<int>(hidden * bare_bytes_);
  packet->pts += in_units;
  packet->dts = packet->pts;
  packet->duration -= in_units;
  return packet;
}

// Returns the part of the packet before `time`; null if it is empty or cannot be split.
FfmpegPtr<AVPacket> ShownPackets::until(FfmpegPtr<AVPacket> packet, std::int64_t time) const {
  const std::int64_t shown = std::min(time - packet->pts, packet->duration);
  if (bare_bytes_ == 0 || rate_ <= 0 || shown <= 0) return nullptr;
  const std::int64_t kept =
      std::min<std::int64_t>(packet->size / bare_bytes_, av_rescale_q(shown, time_base_, {1, rate_}));
  if (kept == 0) return nullptr;
  packet->size = static_cast<int>(kept * bare_bytes_);
  packet->duration = shown;
  return packet;
}

}  // namespace millrace::video
