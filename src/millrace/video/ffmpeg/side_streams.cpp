#include "millrace/video/ffmpeg/side_streams.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/video/ffmpeg/entry_packets.h"
#include "millrace/video/ffmpeg/versions.h"
#include "millrace/video/frame/timecode.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace::video {
namespace {

FfmpegPtr<AVDictionary> copy_of(const AVDictionary* from) {
  AVDictionary* to = nullptr;
  av_dict_copy(&to, from, 0);
  return FfmpegPtr<AVDictionary>(to);
}

std::string_view kind_name(AVMediaType kind) {
  switch (kind) {
  case AVMEDIA_TYPE_VIDEO:
    return "video";
  case AVMEDIA_TYPE_AUDIO:
    return "audio";
  case AVMEDIA_TYPE_SUBTITLE:
    return "subtitles";
  case AVMEDIA_TYPE_ATTACHMENT:
    return "attachment";
  default:
    return "data";
  }
}

std::int64_t microseconds(std::int64_t time, AVRational base) {
  return av_rescale_q(time, base, AV_TIME_BASE_Q);
}

SideStreams::Stream description(const AVStream& from, bool main) {
  SideStreams::Stream to{.number = from.index, .main = main};
  to.codec.reset(avcodec_parameters_alloc());
  if (to.codec) avcodec_parameters_copy(to.codec.get(), from.codecpar);
  to.time_base = from.time_base;
  to.frame_rate = from.avg_frame_rate;
  to.aspect = from.sample_aspect_ratio;
  if (from.start_time != AV_NOPTS_VALUE) to.start = from.start_time;
  to.disposition = from.disposition;
  to.metadata = copy_of(from.metadata);
  for (const AVPacketSideData& each : side_data_of(from))
    to.side_data.push_back({each.type, {each.data, each.data + each.size}});
  if (const AVPacket& cover = from.attached_pic;
      (from.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0 && cover.size > 0)
    to.cover.assign(cover.data, cover.data + cover.size);
  return to;
}

}  // namespace

std::string SideStreams::Stream::name() const {
  std::string text = fmt::format("stream {} ({}", number, kind_name(codec->codec_type));
  if (codec->codec_id != AV_CODEC_ID_NONE) text += fmt::format(", {}", avcodec_get_name(codec->codec_id));
  for (const char* key : {"language", "filename"})
    if (const AVDictionaryEntry* entry = av_dict_get(metadata.get(), key, nullptr, 0))
      text += fmt::format(", {}", entry->value);
  return text + ")";
}

void SideStreams::begin_pass(std::int64_t begin, std::int64_t shift, AVRational unit, bool has_window) {
  const std::scoped_lock lock(mutex_);
  add_held_back();
  for (ShownPackets& each : shown_)
    each.begin_anew();
  passes_.push_back(
      {.ready = !has_window, .begin_out = microseconds(begin, unit), .shift = shift, .shift_unit = unit});
  std::ranges::fill(last_decoded_, std::numeric_limits<std::int64_t>::min());
  pass_begin_ = spill_.end();
}

void SideStreams::set_window(std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                             std::int64_t shift, AVRational unit) {
  const std::scoped_lock lock(mutex_);
  Pass& pass = passes_.back();
  pass.ready = true;
  if (start) pass.start_in = microseconds(*start, unit);
  if (end) pass.end_in = microseconds(*end, unit);
  pass.window_shift = shift;
  pass.window_unit = unit;
}

void SideStreams::end_with_frames() {
  const std::scoped_lock lock(mutex_);
  ends_with_frames_ = true;
}

void SideStreams::describe(const AVFormatContext& container, const AVStream& main) {
  if (described_) return;  // later passes identify packets by stream number
  described_ = true;
  described_streams_ = static_cast<int>(container.nb_streams);
  for (unsigned i = 0; i < container.nb_streams; ++i) {
    const AVStream& stream = *container.streams[i];
    // The demuxer itself does not deliver these, such as the text track that chapters come from.
    if (stream.discard == AVDISCARD_ALL) continue;
    if (!audio_ && stream.codecpar->codec_type == AVMEDIA_TYPE_AUDIO) continue;
    streams_.push_back(description(stream, stream.index == main.index));
    shown_.emplace_back(container, stream);
  }
  const std::int64_t first_frame =
      main.start_time != AV_NOPTS_VALUE ? microseconds(main.start_time, main.time_base) : 0;
  for (unsigned i = 0; i < container.nb_chapters; ++i)
    add_chapter(*container.chapters[i], first_frame);
  metadata_ = copy_of(container.metadata);
  if (part_start_) advance_timecodes(main);
  waiting_.resize(streams_.size());
  left_out_.resize(streams_.size());
  without_entry_.resize(streams_.size());
  last_decoded_.resize(streams_.size(), std::numeric_limits<std::int64_t>::min());
}

// Adds the selected part of the chapter, shifted as if nothing came before the part.
void SideStreams::add_chapter(const AVChapter& chapter, std::int64_t first_frame) {
  const auto own = [&](std::int64_t time) { return av_rescale_q(time, AV_TIME_BASE_Q, chapter.time_base); };
  const std::int64_t moved = own(part_start_.value_or(0));
  const std::int64_t from =
      part_start_ ? std::max(chapter.start, own(first_frame + *part_start_)) : chapter.start;
  const std::int64_t to = part_end_ ? std::min(chapter.end, own(first_frame + *part_end_)) : chapter.end;
  if (to <= from && (part_start_ || part_end_)) return;
  chapters_.push_back({.id = chapter.id,
                       .time_base = chapter.time_base,
                       .start = from - moved,
                       .end = to - moved,
                       .metadata = copy_of(chapter.metadata)});
}

// Advances timecodes to the first frame of the part. A timecode track holds only the first one, and muxers
// make a track from the video's tag.
void SideStreams::advance_timecodes(const AVStream& main) {
  const AVRational rate = main.avg_frame_rate.num > 0 ? main.avg_frame_rate : main.r_frame_rate;
  if (rate.num <= 0 || rate.den <= 0) return;
  constexpr std::int64_t inaccuracy = 2;  // microseconds
  const std::int64_t frames =
      av_rescale_q_rnd(*part_start_ - inaccuracy, AV_TIME_BASE_Q, av_inv_q(rate), AV_ROUND_UP);
  const auto advance = [&](FfmpegPtr<AVDictionary>& tags) {
    const AVDictionaryEntry* const entry = av_dict_get(tags.get(), "timecode", nullptr, 0);
    if (entry == nullptr) return;
    const std::string key = entry->key;
    const auto advanced = timecode_after(entry->value, frames, rate.num, rate.den);
    if (!advanced && not_taken_.empty())
      not_taken_.push_back(
          fmt::format("the timecode {}, which cannot be moved by {} frames", entry->value, frames));
    AVDictionary* changed = tags.release();
    av_dict_set(&changed, key.c_str(), advanced ? advanced->c_str() : nullptr, 0);
    tags.reset(changed);
  };
  advance(metadata_);
  for (Stream& stream : streams_)
    advance(stream.metadata);
  for (std::size_t i = 0; i < streams_.size();) {
    const bool timecodes = !streams_[i].main && streams_[i].codec->codec_tag == MKTAG('t', 'm', 'c', 'd');
    if (!timecodes) {
      ++i;
      continue;
    }
    const AVDictionaryEntry* const entry = av_dict_get(streams_[i].metadata.get(), "timecode", nullptr, 0);
    const auto video = std::ranges::find(streams_, true, &Stream::main);
    if (entry != nullptr && video != streams_.end() &&
        av_dict_get(video->metadata.get(), "timecode", nullptr, 0) == nullptr) {
      AVDictionary* tags = video->metadata.release();
      av_dict_set(&tags, "timecode", entry->value, 0);
      video->metadata.reset(tags);
    }
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
    shown_.erase(shown_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::optional<std::size_t> SideStreams::find(int number) const {
  const auto found = std::ranges::find(streams_, number, &Stream::number);
  if (found == streams_.end() || found->main) return std::nullopt;
  return found - streams_.begin();
}

bool SideStreams::takes(int number) const { return find(number).has_value(); }

void SideStreams::push(FfmpegPtr<AVPacket> packet) {
  const auto which = find(packet->stream_index);
  if (!which) return note_late(*packet);
  const bool overfull = [&] {
    const std::scoped_lock lock(mutex_);
    if (detached_) return false;
    add(*which, shown_[*which].add(std::move(packet)));
    return bytes_ > max_waiting_bytes || !spill_.is_empty();
  }();
  if (!overfull) return;
  const std::scoped_lock lock(relieving_);
  if (relieve_) relieve_();
}

void SideStreams::add(std::size_t stream, std::vector<FfmpegPtr<AVPacket>> packets) {
  for (FfmpegPtr<AVPacket>& packet : packets) {
    const std::int64_t decoded = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
    if (decoded != AV_NOPTS_VALUE) last_decoded_[stream] = microseconds(decoded, streams_[stream].time_base);
    WaitingPacket waiting{.data = std::move(packet),
                          .stream = stream,
                          .pass = passes_.size() - 1,
                          .decoded_in = last_decoded_[stream]};
    // If a part is far into the video, drop earlier packets now instead of queueing them.
    if (passes_.back().ready && !is_wanted(waiting)) {
      passes_.back().dropped.insert(stream);
      continue;
    }
    if (spill_.is_empty() && bytes_ <= max_waiting_bytes)
      queue(std::move(waiting));
    else if (!spill_failed_)
      note_spill_error(spill_.push(waiting));
  }
}

void SideStreams::queue(WaitingPacket waiting) {
  bytes_ += memory_of(*waiting.data);
  waiting_[waiting.stream].push_back(std::move(waiting));
}

// Moves packets from the temporary file to memory.
void SideStreams::fill_up() {
  while (!spill_.is_empty() && bytes_ <= max_waiting_bytes) {
    Result<WaitingPacket> next = spill_.pop();
    if (!next) {
      spill_.drop_from(0);
      return note_spill_error(std::unexpected(next.error()));
    }
    queue(*std::move(next));
  }
}

// All later packets are dropped, so that no stream has a hole.
void SideStreams::note_spill_error(const Status& status) {
  if (status) return;
  spill_failed_ = true;
  if (broken_off_.empty())
    broken_off_ =
        fmt::format("too much of them comes before the first frame, and {}", status.error().message);
}

void SideStreams::add_held_back() {
  if (detached_) return;
  for (std::size_t i = 0; i < shown_.size(); ++i)
    add(i, shown_[i].end());
}

void SideStreams::end_input() {
  const std::scoped_lock lock(mutex_);
  add_held_back();
}

// Notes a stream that was unknown when the output was opened.
void SideStreams::note_late(const AVPacket& packet) {
  const std::scoped_lock lock(mutex_);
  if (packet.stream_index < described_streams_ || !late_.insert(packet.stream_index).second) return;
  not_taken_.push_back(fmt::format("stream {}, which appears only later in the file", packet.stream_index));
}

void SideStreams::forget_waiting() {
  const std::scoped_lock lock(mutex_);
  for (auto& packets : waiting_) {
    while (!packets.empty() && packets.back().pass == passes_.size() - 1) {
      bytes_ -= memory_of(*packets.back().data);
      packets.pop_back();
    }
  }
  spill_.drop_from(pass_begin_);
  for (ShownPackets& each : shown_)
    each.begin_anew();
  std::ranges::fill(last_decoded_, std::numeric_limits<std::int64_t>::min());
}

bool SideStreams::is_complete(std::int64_t time, AVRational time_base) const {
  constexpr std::int64_t most_apart = 3 * std::int64_t{AV_TIME_BASE};
  const std::scoped_lock lock(mutex_);
  const auto& end = passes_.back().end_in;
  if (!end || detached_ || microseconds(time, time_base) > *end + most_apart) return true;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i].codec->codec_type == AVMEDIA_TYPE_AUDIO && last_decoded_[i] < *end) return false;
  return true;
}

void SideStreams::break_off(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (broken_off_.empty()) broken_off_ = why;
}

void SideStreams::attach(std::function<void()> relieve) {
  const std::scoped_lock lock(relieving_);
  relieve_ = std::move(relieve);
}

void SideStreams::detach() {
  const std::scoped_lock lock(relieving_, mutex_);
  relieve_ = nullptr;
  add_held_back();
  detached_ = true;
}

std::optional<SideStreams::Packet> SideStreams::take(std::optional<std::int64_t> time) {
  const std::scoped_lock lock(mutex_);
  std::optional<std::size_t> first;
  std::int64_t earliest = 0;
  do {
    fill_up();
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const auto its_time = first_time(i);
      if (!its_time || (first && *its_time >= earliest)) continue;
      first = i;
      earliest = *its_time;
    }
    // If none of these is wanted, one in the temporary file may be.
  } while (!first && !spill_.is_empty() && bytes_ <= max_waiting_bytes);
  if (!first || (time && earliest > *time)) return std::nullopt;
  WaitingPacket& waiting = waiting_[*first].front();
  Packet packet{.stream = *first, .data = std::move(waiting.data)};
  const Pass& pass = passes_[waiting.pass];
  bytes_ -= memory_of(*packet.data);
  waiting_[*first].pop_front();
  for (std::int64_t* each : {&packet.data->pts, &packet.data->dts})
    if (*each != AV_NOPTS_VALUE) *each = moved(pass, *each, streams_[*first].time_base);
  return packet;
}

// Converts to the output's clock, in units of the time base.
std::int64_t SideStreams::moved(const Pass& pass, std::int64_t time, AVRational time_base) const {
  return time + av_rescale_q(pass.shift, pass.shift_unit, time_base) -
         av_rescale_q(pass.window_shift, pass.window_unit, time_base);
}

bool SideStreams::is_wanted(const WaitingPacket& packet) const {
  const Stream& stream = streams_[packet.stream];
  if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) return packet.pass == 0;
  const Pass& pass = passes_[packet.pass];
  const std::int64_t shown = packet.data->pts != AV_NOPTS_VALUE ? packet.data->pts : packet.data->dts;
  if (shown == AV_NOPTS_VALUE) return true;
  const std::int64_t in = microseconds(shown, stream.time_base);
  if ((pass.start_in && in < *pass.start_in) || (pass.end_in && in >= *pass.end_in)) return false;
  const std::int64_t out = microseconds(moved(pass, shown, stream.time_base), stream.time_base);
  if (pass.begin_out && out < *pass.begin_out) return false;
  const bool is_last_pass = packet.pass + 1 == passes_.size();
  return is_last_pass || out < *passes_[packet.pass + 1].begin_out;
}

// Whether to write the packet. Call it for each packet of a stream in order until the packet is gone. A
// copied video begins with a packet that needs no earlier one if earlier ones are dropped.
bool SideStreams::is_taken(const WaitingPacket& packet) {
  Pass& pass = passes_[packet.pass];
  const auto begun = pass.begun.find(packet.stream);
  if (!is_wanted(packet)) {
    if (begun == pass.begun.end()) pass.dropped.insert(packet.stream);
    return false;
  }
  constexpr std::int64_t any_time = std::numeric_limits<std::int64_t>::min();
  const std::int64_t shown = packet.data->pts;
  const Stream& stream = streams_[packet.stream];
  bool needs_others = false;
  if (begun != pass.begun.end()) {
    needs_others = shown != AV_NOPTS_VALUE && shown < begun->second;
  } else {
    const bool in_middle = stream.codec->codec_type == AVMEDIA_TYPE_VIDEO &&
                           (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) == 0 &&
                           pass.dropped.contains(packet.stream);
    needs_others = in_middle && !is_entry(*packet.data, *stream.codec);
    if (!needs_others) pass.begun[packet.stream] = in_middle && shown != AV_NOPTS_VALUE ? shown : any_time;
  }
  if (needs_others) ++without_entry_[packet.stream];
  return !needs_others;
}

// Decoding time of the stream's first wanted packet, in microseconds of the output's clock. Drops the
// unwanted packets before it.
std::optional<std::int64_t> SideStreams::first_time(std::size_t stream) {
  auto& packets = waiting_[stream];
  while (!packets.empty() && passes_[packets.front().pass].ready) {
    const WaitingPacket& packet = packets.front();
    if (is_taken(packet)) return moved(passes_[packet.pass], packet.decoded_in, AV_TIME_BASE_Q);
    bytes_ -= memory_of(*packet.data);
    packets.pop_front();
  }
  return std::nullopt;
}

bool SideStreams::is_overfull() const {
  const std::scoped_lock lock(mutex_);
  return bytes_ > max_waiting_bytes || !spill_.is_empty();
}

void SideStreams::leave_out(std::size_t stream, std::int64_t shown) {
  const std::scoped_lock lock(mutex_);
  left_out_[stream] += shown;
}

bool SideStreams::ends_with_frames() const {
  const std::scoped_lock lock(mutex_);
  return ends_with_frames_;
}

std::string SideStreams::broken_off() const {
  const std::scoped_lock lock(mutex_);
  return broken_off_;
}

std::vector<std::string> SideStreams::left_out() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> words = not_taken_;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (const std::int64_t sound = shown_[i].sound_left_out() + left_out_[i]; sound > 0)
      words.push_back(fmt::format("{:.3f} s of {}, in packets that the edit list of the input hides in part",
                                  static_cast<double>(sound) * av_q2d(streams_[i].time_base),
                                  streams_[i].name()));
    if (const std::int64_t packets = shown_[i].packets_left_out(); packets > 0)
      words.push_back(
          fmt::format("{} packet{} of {}, which need others that the edit list of the input hides", packets,
                      packets == 1 ? "" : "s", streams_[i].name()));
    if (const std::int64_t packets = without_entry_[i]; packets > 0)
      words.push_back(fmt::format("{} of {}, which need others from before the part",
                                  counted(packets, "packet"), streams_[i].name()));
  }
  return words;
}

}  // namespace millrace::video
