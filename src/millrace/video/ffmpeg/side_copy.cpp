#include "millrace/video/ffmpeg/side_copy.h"

#include "millrace/video/ffmpeg/hidden_samples.h"
#include "millrace/video/ffmpeg/lasting_tags.h"
#include "millrace/video/ffmpeg/side_data.h"
#include "millrace/video/ffmpeg/versions.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace millrace::video {
namespace {

// Matroska and WebM have no negative times.
bool begins_at_zero(const AVFormatContext& muxer) {
  return std::string_view(muxer.oformat->name) == "matroska" ||
         std::string_view(muxer.oformat->name) == "webm";
}

bool begins_with_edit_list(const AVFormatContext& muxer) {
  return std::string_view(muxer.oformat->name) == "mp4" || std::string_view(muxer.oformat->name) == "mov";
}

// The container's four-character code of the codec; 0 lets the muxer choose.
std::uint32_t tag_for(const AVOutputFormat& container, const AVCodecParameters& codec) {
  unsigned other = 0;
  if (container.codec_tag == nullptr ||
      av_codec_get_id(container.codec_tag, codec.codec_tag) == codec.codec_id ||
      av_codec_get_tag2(container.codec_tag, codec.codec_id, &other) == 0)
    return codec.codec_tag;
  return 0;
}

// Whether the first packet after a start decodes to nothing, and only prepares the second.
bool first_is_silent(const AVCodecParameters& codec) { return codec.codec_id == AV_CODEC_ID_VORBIS; }

// Whether only some packets can be decoded without those before.
bool needs_key(const AVCodecParameters& codec) {
  return codec.codec_id == AV_CODEC_ID_TRUEHD || codec.codec_id == AV_CODEC_ID_MLP;
}

bool is_opus(const AVCodecParameters& codec) {
  return codec.codec_id == AV_CODEC_ID_OPUS && codec.sample_rate > 0;
}

// Whether so many samples at the start are what encoders put before the sound, rather than what somebody cut
// off.
bool is_encoder_delay(const AVCodecParameters& codec, std::int64_t samples) {
  switch (codec.codec_id) {
  case AV_CODEC_ID_AAC:
    return samples == 1024 || samples == 2048 || samples == 2112;
  case AV_CODEC_ID_MP3:
    return samples == 1105;
  case AV_CODEC_ID_AC3:
  case AV_CODEC_ID_EAC3:
    return samples == 256;
  default:
    return is_opus(codec);
  }
}

void describe(const SideStreams::Stream& from, AVFormatContext& muxer, AVStream& to) {
  to.time_base = from.time_base;
  to.avg_frame_rate = from.frame_rate;
  to.sample_aspect_ratio = from.aspect;
  to.disposition = from.disposition;
  copy_lasting_tags(from.metadata.get(), to.metadata);
  for (const SideStreams::SideData& each : from.side_data)
    if (std::uint8_t* bytes = add_side_data(to, each.type, each.bytes.size()))
      std::memcpy(bytes, each.bytes.data(), each.bytes.size());
  to.codecpar->codec_tag = tag_for(*muxer.oformat, *from.codec);
  if (is_opus(*from.codec) && from.codec->initial_padding == 0 && from.start && *from.start < 0 &&
      av_compare_ts(-*from.start, from.time_base, 1, {1, 8}) < 0)
    to.codecpar->initial_padding =
        static_cast<int>(-av_rescale_q(*from.start, from.time_base, {1, from.codec->sample_rate}));
}

// In Matroska a cover is a file among the attachments, and not a stream of video.
bool is_attached(const AVFormatContext& muxer, const SideStreams::Stream& stream) {
  const AVCodecID codec = stream.codec->codec_id;
  return std::string_view(muxer.oformat->name) == "matroska" && !stream.cover.empty() &&
         (codec == AV_CODEC_ID_PNG || codec == AV_CODEC_ID_MJPEG);
}

// Returns false if memory runs out.
bool attach_cover(const SideStreams::Stream& from, AVStream& to) {
  const bool png = from.codec->codec_id == AV_CODEC_ID_PNG;
  AVCodecParameters& codec = *to.codecpar;
  codec.codec_type = AVMEDIA_TYPE_ATTACHMENT;
  codec.codec_tag = 0;
  av_freep(static_cast<void*>(&codec.extradata));
  codec.extradata_size = 0;
  auto* const bytes =
      static_cast<std::uint8_t*>(av_mallocz(from.cover.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (bytes == nullptr) return false;
  std::ranges::copy(from.cover, bytes);
  codec.extradata = bytes;
  codec.extradata_size = static_cast<int>(from.cover.size());
  to.disposition = 0;
  // Players look for this name.
  if (av_dict_get(to.metadata, "filename", nullptr, 0) == nullptr)
    av_dict_set(&to.metadata, "filename", png ? "cover.png" : "cover.jpg", 0);
  if (av_dict_get(to.metadata, "mimetype", nullptr, 0) == nullptr)
    av_dict_set(&to.metadata, "mimetype", png ? "image/png" : "image/jpeg", 0);
  return true;
}

// Makes the output's stream. Returns null if memory runs out.
AVStream* new_stream(AVFormatContext& muxer, const SideStreams::Stream& from) {
  AVStream* const to = avformat_new_stream(&muxer, nullptr);
  if (to == nullptr || avcodec_parameters_copy(to->codecpar, from.codec.get()) < 0) return nullptr;
  describe(from, muxer, *to);
  if (is_attached(muxer, from) && !attach_cover(from, *to)) return nullptr;
  return to;
}

// The input does not state its parameters, so no container can store it.
bool is_unknown_sound(const SideStreams::Stream& stream) {
  return stream.codec->codec_type == AVMEDIA_TYPE_AUDIO && stream.codec->sample_rate <= 0;
}

// Such containers hold a single stream of pictures, whatever their muxer accepts.
bool holds_frames_alone(const AVOutputFormat& container) { return container.audio_codec == AV_CODEC_ID_NONE; }

// Whether the container can hold the stream. Tries it: begins a file with this stream alone, because FFmpeg's
// tables often promise more than the muxer accepts.
bool can_hold(const AVOutputFormat& container, const SideStreams::Stream& stream) {
  if (holds_frames_alone(container)) return false;
  if (std::string_view(container.name) == "mov") {
    // The .mov muxer silently drops cover art, and writes sound under tags that no program knows.
    if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) return false;
    unsigned known = 0;
    if (stream.codec->codec_type == AVMEDIA_TYPE_AUDIO &&
        av_codec_get_tag2(container.codec_tag, stream.codec->codec_id, &known) == 0)
      return false;
  }
  AVFormatContext* context = nullptr;
  if (avformat_alloc_output_context2(&context, &container, nullptr, nullptr) < 0) return false;
  const MuxerPtr muxer(context);
  context->strict_std_compliance = muxer_compliance;
  if (new_stream(*context, stream) == nullptr) return false;
  if (avio_open_dyn_buf(&context->pb) < 0) return false;
  const bool held = avformat_write_header(context, nullptr) >= 0;
  if (held) av_write_trailer(context);
  std::uint8_t* bytes = nullptr;
  avio_close_dyn_buf(context->pb, &bytes);
  context->pb = nullptr;
  av_free(bytes);
  return held;
}

}  // namespace

AVStream* SideCopy::add_streams(AVFormatContext& muxer) {
  AVStream* frames = nullptr;
  for (const SideStreams::Stream& stream : from_->streams()) {
    Copy& copy = copies_.emplace_back();
    if (stream.main) {
      frames = avformat_new_stream(&muxer, nullptr);
      if (frames == nullptr) return nullptr;
      // The tags of a cover tell the kind of picture, but the video is no cover.
      if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) == 0) names_[frames->index] = stream.name();
      // Cover art that is processed together with its song becomes a video of one frame.
      frames->disposition = stream.disposition & ~AV_DISPOSITION_ATTACHED_PIC;
      copy_lasting_tags(stream.metadata.get(), frames->metadata);
      av_dict_set(&frames->metadata, "alpha_mode", nullptr, 0);  // frames have none
    } else if (is_unknown_sound(stream)) {
      not_kept_.push_back(
          fmt::format("{}, of which the file says too little until it begins", stream.name()));
    } else if (can_hold(*muxer.oformat, stream)) {
      AVStream* const to = new_stream(muxer, stream);
      if (to == nullptr) return nullptr;
      names_[to->index] = stream.name();
      if (stream.codec->codec_type == AVMEDIA_TYPE_VIDEO)
        for (const std::string& lost : lost_side_data(stream, *muxer.oformat))
          not_kept_.push_back(fmt::format("{} of {}", lost, stream.name()));
      // The header has all of an attachment.
      if (is_attached(muxer, stream)) continue;
      copy.stream = to;
      copy.untimed = UntimedSound::in(muxer, *to->codecpar, stream.time_base);
    } else {
      not_kept_.push_back(fmt::format("{}, which {} cannot hold", stream.name(), suffix_));
    }
  }
  if (holds_frames_alone(*muxer.oformat)) {
    std::ranges::copy(chapters_and_tags(from_->chapters().size(), from_->metadata()),
                      std::back_inserter(not_kept_));
  } else {
    copy_lasting_tags(from_->metadata(), muxer.metadata);
    add_chapters(muxer);
  }
  return frames != nullptr ? frames : avformat_new_stream(&muxer, nullptr);
}

// Allocated as muxers expect; they free the chapters with the context.
void SideCopy::add_chapters(AVFormatContext& muxer) {
  for (const SideStreams::Chapter& from : from_->chapters()) {
    auto* chapter = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
    if (chapter == nullptr) return;
    chapter->id = from.id;
    chapter->time_base = from.time_base;
    chapter->start = from.start;
    chapter->end = from.end;
    copy_lasting_tags(from.metadata.get(), chapter->metadata);
    int count = static_cast<int>(muxer.nb_chapters);
    if (av_dynarray_add_nofree(static_cast<void*>(&muxer.chapters), &count, chapter) < 0) {
      av_dict_free(&chapter->metadata);
      av_free(chapter);
      return;
    }
    muxer.nb_chapters = static_cast<unsigned>(count);
  }
}

void SideCopy::set_shift(std::int64_t shift, AVRational time_base) {
  exact_shift_ = shift;
  shift_base_ = time_base;
  shift_ = av_rescale_q(shift, time_base, AV_TIME_BASE_Q);
  shift_known_ = true;
}

int SideCopy::write_until(AVFormatContext& muxer, std::optional<std::int64_t> time, AVRational time_base) {
  if (time) *time = av_rescale_q(*time, time_base, AV_TIME_BASE_Q) - shift_;
  while (auto packet = from_->take(time))
    if (const int written = write(muxer, *std::move(packet)); written < 0) return written;
  return 0;
}

int SideCopy::relieve(AVFormatContext& muxer) {
  while (shift_known_ && from_->is_overfull()) {
    auto packet = from_->take(std::nullopt);
    if (!packet) return 0;
    if (const int written = write(muxer, *std::move(packet)); written < 0) return written;
  }
  return 0;
}

// Whether the output will hide these samples of the packet, and no others. In .mp4 and .mov the edit list
// hides what is before 0, to the sample. Matroska stores for each packet how much of its end to hide, but
// only an input's own note is passed on: FFmpeg 5.1 hides the end of another packet if it decodes in several
// threads.
bool SideCopy::can_hide(const AVFormatContext& muxer, const Copy& copy, const AVPacket& data,
                        const HiddenSamples& hidden) const {
  if (hidden.at_start <= 0 && hidden.at_end <= 0) return true;
  if (begins_at_zero(muxer)) return hidden.at_start <= 0;
  const AVRational sample{1, std::max(1, copy.stream->codecpar->sample_rate)};
  return hidden.at_end <= 0 && !copy.last_dts && begins_with_edit_list(muxer) &&
         av_compare_ts(-data.pts, copy.stream->time_base, hidden.at_start, sample) == 0;
}

// Fails only if the file cannot be written at all.
int SideCopy::write(AVFormatContext& muxer, SideStreams::Packet packet) {
  Copy& copy = copies_[packet.stream];
  if (copy.stream == nullptr) return 0;
  // This container stores the delay once per stream, and times count from there. The header has fixed the
  // units.
  if (!copy.last_dts &&
      (is_opus(*copy.stream->codecpar) || (matroska_adds_delay && copy.stream->codecpar->sample_rate > 0)))
    copy.delay = av_rescale_q(copy.stream->codecpar->initial_padding, {1, copy.stream->codecpar->sample_rate},
                              copy.stream->time_base);
  const SideStreams::Stream& from = from_->streams()[packet.stream];
  AVPacket& data = *packet.data;
  if (!copy.hidden_at_start) copy.hidden_at_start = hidden_samples(data).at_start;
  const std::int64_t shift = av_rescale_q(exact_shift_, shift_base_, from.time_base);
  for (std::int64_t* time : {&data.pts, &data.dts})
    if (*time != AV_NOPTS_VALUE) *time += shift;
  av_packet_rescale_ts(&data, from.time_base, copy.stream->time_base);
  if (data.dts == AV_NOPTS_VALUE) data.dts = data.pts;
  if (data.dts == AV_NOPTS_VALUE) data.dts = copy.last_dts ? *copy.last_dts + copy.last_duration : 0;
  if (data.pts == AV_NOPTS_VALUE) data.pts = data.dts;
  // Some demuxers give no durations. In .mp4 and .mov an edit list would hide a last packet of no duration.
  if (copy.last_dts && data.dts > *copy.last_dts)
    copy.shortest = std::min(copy.shortest > 0 ? copy.shortest : INT64_MAX, data.dts - *copy.last_dts);
  if (data.duration <= 0 && begins_with_edit_list(muxer) && from.codec->codec_type == AVMEDIA_TYPE_AUDIO)
    data.duration = std::max<std::int64_t>(1, copy.shortest);
  if (end_ && av_compare_ts(data.pts, copy.stream->time_base, *end_, AV_TIME_BASE_Q) >= 0) return 0;
  if (const HiddenSamples hidden = hidden_samples(data);
      stands_alone(from.codec->codec_id) && !can_hide(muxer, copy, data, hidden)) {
    const AVRational sample{1, std::max(1, from.codec->sample_rate)};
    const std::int64_t shown = av_rescale_q(data.duration, copy.stream->time_base, sample) - hidden.at_start;
    from_->leave_out(packet.stream, av_rescale_q(std::max<std::int64_t>(0, shown), sample, from.time_base));
    return 0;
  }
  // A cut may be between two packets that begin nothing.
  if (!copy.last_dts && needs_key(*from.codec) && (data.flags & AV_PKT_FLAG_KEY) == 0) return 0;
  // The output hides only packets before 0.
  if (is_hidden(data) && data.pts + data.duration > 0) return 0;
  if (begins_at_zero(muxer)) {
    const std::int64_t added = matroska_adds_delay ? 0 : copy.delay;
    const std::int64_t earliest = added - copy.delay;  // stored as 0
    for (std::int64_t* time : {&data.pts, &data.dts})
      *time += added;
    // Packets before that are only for starting the decoder and must not be heard.
    if (data.pts + data.duration <= earliest && data.pts < earliest) {
      if (first_is_silent(*from.codec)) copy.starter = std::move(packet.data);
      return 0;
    }
    if (data.pts < earliest && *copy.hidden_at_start > 0 &&
        !is_encoder_delay(*from.codec, *copy.hidden_at_start)) {
      from_->leave_out(packet.stream, av_rescale_q(data.pts + data.duration - earliest,
                                                   copy.stream->time_base, from.time_base));
      return 0;
    }
    data.pts = std::max(data.pts, earliest);
    data.dts = std::max(data.dts, earliest);
    if (const auto starter = std::exchange(copy.starter, nullptr)) {
      starter->pts = starter->dts = earliest;
      copy.last_dts = earliest;
      if (const int written = write_data(muxer, from, copy, *starter); written < 0) return written;
      if (copy.stream == nullptr) return 0;
    }
  }
  if (copy.untimed) {
    copy.last_dts = data.dts;
    return write_in_step(muxer, from, copy, data);
  }
  // Containers require increasing times. Some take equal ones, which packets that are shorter than a unit
  // need.
  const bool takes_equal = (muxer.oformat->flags & AVFMT_TS_NONSTRICT) != 0;
  if (copy.last_dts && data.dts < *copy.last_dts + (takes_equal ? 0 : 1)) {
    data.dts = *copy.last_dts + (takes_equal ? 0 : 1);
    data.pts = std::max(data.pts, data.dts);
  }
  copy.last_dts = data.dts;
  copy.last_duration = std::max<std::int64_t>(1, data.duration);
  return write_data(muxer, from, copy, data);
}

// Writes a packet of sound whose time the container does not store.
int SideCopy::write_in_step(AVFormatContext& muxer, const SideStreams::Stream& from, Copy& copy,
                            AVPacket& data) {
  const AVRational sample{1, copy.stream->codecpar->sample_rate};
  const AVRational unit = copy.stream->time_base;
  const int bytes = copy.untimed->bytes_per_sample();
  const std::int64_t samples = data.size / bytes;
  const UntimedSound::Step step = copy.untimed->place(av_rescale_q(data.dts, unit, sample), samples);
  // A damaged time must not fill the disk.
  constexpr std::int64_t most_silence = std::int64_t{4} << 30;
  if (copy.untimed->filled() > most_silence / bytes) {
    give_up(from, copy, data.dts,
            fmt::format("{} cannot hold the gap of {:.3f} s before it; use .mkv", suffix_,
                        static_cast<double>(step.silence) * av_q2d(sample)));
    return 0;
  }
  if (const int written = write_silence(muxer, copy, step.time, step.silence); written < 0) return written;
  if (step.repeated == samples) return 0;
  // A part of a sample at the end would shift all later bytes.
  data.data += step.repeated * bytes;
  data.size = static_cast<int>((samples - step.repeated) * bytes);
  data.pts = data.dts = av_rescale_q(step.time + step.silence, sample, unit);
  data.duration = av_rescale_q(samples - step.repeated, sample, unit);
  return write_data(muxer, from, copy, data);
}

int SideCopy::write_silence(AVFormatContext& muxer, Copy& copy, std::int64_t time,
                            std::int64_t samples) const {
  const AVRational sample{1, copy.stream->codecpar->sample_rate};
  const FfmpegPtr<AVPacket> packet(av_packet_alloc());
  if (!packet) return AVERROR(ENOMEM);
  while (samples > 0) {
    const std::int64_t now = std::min<std::int64_t>(samples, copy.stream->codecpar->sample_rate);
    const std::vector<std::uint8_t> silence = copy.untimed->silence(now);
    if (const int made = av_new_packet(packet.get(), static_cast<int>(silence.size())); made < 0) return made;
    std::ranges::copy(silence, packet->data);
    packet->pts = packet->dts = av_rescale_q(time, sample, copy.stream->time_base);
    packet->duration = av_rescale_q(now, sample, copy.stream->time_base);
    packet->flags = AV_PKT_FLAG_KEY;
    packet->stream_index = copy.stream->index;
    if (const int written = av_write_frame(&muxer, packet.get()); written < 0) return written;
    av_packet_unref(packet.get());
    time += now;
    samples -= now;
  }
  return 0;
}

int SideCopy::write_data(AVFormatContext& muxer, const SideStreams::Stream& from, Copy& copy,
                         AVPacket& data) {
  data.stream_index = copy.stream->index;
  data.pos = -1;
  const int written = av_write_frame(&muxer, &data);
  if (written >= 0 || (muxer.pb != nullptr && muxer.pb->error < 0)) return std::min(written, 0);
  give_up(from, copy, data.pts, ffmpeg_message(written));
  return 0;
}

// Leaves out the stream from this time on, in units of the output.
void SideCopy::give_up(const SideStreams::Stream& from, Copy& copy, std::int64_t time,
                       const std::string& why) {
  not_kept_.push_back(fmt::format("{} from {:.3f} s on ({})", from.name(),
                                  static_cast<double>(time) * av_q2d(copy.stream->time_base), why));
  copy.stream = nullptr;
}

void SideCopy::describe_untimed(std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Copy& copy = copies_[i];
    if (!copy.untimed || copy.stream == nullptr) continue;
    const std::string name = from_->streams()[i].name();
    const auto seconds = [&](std::int64_t samples) {
      return static_cast<double>(samples) / copy.stream->codecpar->sample_rate;
    };
    if (const std::int64_t filled = copy.untimed->filled(); filled > 0)
      words.push_back(fmt::format("gaps in {}, {:.3f} s in all, which are filled with silence in {}", name,
                                  seconds(filled), suffix_));
    if (const std::int64_t left_out = copy.untimed->left_out(); left_out > 0)
      words.push_back(
          fmt::format("{:.3f} s of {}, whose times are those of other sound in it", seconds(left_out), name));
  }
}

std::vector<std::string> SideCopy::not_kept() const {
  std::vector<std::string> words = not_kept_;
  describe_untimed(words);
  std::ranges::copy(from_->left_out(), std::back_inserter(words));
  if (const std::string why = from_->broken_off(); !why.empty())
    words.push_back(fmt::format("the end of the other streams ({})", why));
  return words;
}

}  // namespace millrace::video
