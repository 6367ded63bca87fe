// Joins encoded videos by packet copy.
#include "millrace/base/file/input_file.h"
#include "millrace/base/file/output_file.h"
#include "millrace/video/coded/coded_kinds.h"
#include "millrace/video/ffmpeg/color_tags.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/ffmpeg_writer.h"
#include "millrace/video/ffmpeg/linked_backend.h"
#include "millrace/video/ffmpeg/output_bridge.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/ffmpeg/side_copy.h"
#include "millrace/video/ffmpeg/side_data.h"
#include "millrace/video/ffmpeg/writer_clock.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

extern "C" {
#include <libavutil/opt.h>
}

namespace millrace::video {
namespace {

// For each packet, the position of its frame in display order.
std::vector<std::int64_t> ranks_of(const PacketIndex& index) {
  std::vector<std::int64_t> order(index.packets.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int64_t i) {
    return index.packets[static_cast<std::size_t>(i)].shown.value_or(0);
  });
  std::vector<std::int64_t> ranks(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    ranks[static_cast<std::size_t>(order[rank])] = static_cast<std::int64_t>(rank);
  return ranks;
}

std::int64_t reordering_in(const std::vector<std::int64_t>& ranks) {
  std::int64_t most = 0;
  for (std::size_t n = 0; n < ranks.size(); ++n)
    most = std::max(most, static_cast<std::int64_t>(n) - ranks[n]);
  return most;
}

Result<std::unique_ptr<Demuxer>> open_demuxer(const std::string& file, const std::stop_token& stop,
                                              std::shared_ptr<SideStreams> side = nullptr) {
  auto opened = InputFile::open(file, {}, stop);
  if (!opened) return std::unexpected(std::move(opened.error()));
  return Demuxer::open(*std::move(opened), std::move(side));
}

bool same_settings(const AVCodecParameters& a, const AVCodecParameters& b) {
  return a.codec_id == b.codec_id && a.format == b.format && a.width == b.width && a.height == b.height &&
         a.profile == b.profile && a.extradata_size == b.extradata_size &&
         (a.extradata_size == 0 ||
          std::memcmp(a.extradata, b.extradata, static_cast<std::size_t>(a.extradata_size)) == 0);
}

// Writes one output, from header to trailer.
class Joiner {
 public:
  Joiner(const JoinedVideo& video, std::unique_ptr<OutputFile> file, const Container& container,
         std::stop_token stop)
      : video_(video), name_(file->name()), bridge_(std::move(file)), container_(container),
        clock_(video.format, container), stop_(std::move(stop)) {}

  // The parts' indices give the times, so all parts are checked before the first packet is written.
  [[nodiscard]] Status look_at_parts() {
    std::int64_t frames = 0;
    for (const VideoPart& part : video_.parts) {
      const auto index = LinkedBackend().index_packets(part.file, stop_);
      if (!index) return std::unexpected(index.error());
      if (std::ssize(index->packets) != part.frames)
        return failure("{}: holds {} frames, not {}; delete it and do its chunk again", part.file,
                       index->packets.size(), part.frames);
      ranks_.push_back(ranks_of(*index));
      reordering_ = std::max(reordering_, reordering_in(ranks_.back()));
      frames += part.frames;
    }
    if (frames != std::ssize(video_.times))
      return failure("{}: {} frames in {} parts, {} wanted", name(), frames, video_.parts.size(),
                     video_.times.size());
    times_.reserve(video_.times.size());
    for (const std::int64_t time : video_.times)
      times_.push_back(times_.empty() ? clock_.at(time) : std::max(clock_.at(time), times_.back() + 1));
    return {};
  }

  [[nodiscard]] Status open() {
    AVFormatContext* context = nullptr;
    avformat_alloc_output_context2(&context, nullptr, container_.muxer, nullptr);
    muxer_.reset(context);
    if (!muxer_ || bridge_.io() == nullptr) return failure("{}: out of memory", name());
    muxer_->pb = bridge_.io();
    muxer_->strict_std_compliance = muxer_compliance;
    muxer_->flags |= AVFMT_FLAG_BITEXACT;  // the same parts give the same bytes: no random file id
    auto first = open_demuxer(video_.parts.front().file, stop_);
    if (!first) return std::unexpected(first.error());
    parameters_.reset(avcodec_parameters_alloc());
    if (!parameters_ || avcodec_parameters_copy(parameters_.get(), (*first)->stream().codecpar) < 0)
      return failure("{}: out of memory", name());
    if (avformat_query_codec(muxer_->oformat, parameters_->codec_id, FF_COMPLIANCE_NORMAL) != 1)
      return usage_error("{}: {} does not go into {}; use .mkv", name(),
                         avcodec_get_name(parameters_->codec_id), container_.suffix);
    if (Status side = open_side(); !side) return side;
    if (Status made = make_stream(); !made) return made;
    return check(avformat_write_header(muxer_.get(), nullptr));
  }

  [[nodiscard]] Status copy() {
    for (std::size_t part = 0; part < video_.parts.size(); ++part)
      if (Status copied = copy_part(part); !copied) return copied;
    if (side_input_) {
      while (!side_ended_)
        if (Status read = read_side(); !read) return read;
      if (Status rest = check(side_->write_until(*muxer_, std::nullopt, stream_->time_base)); !rest)
        return rest;
    }
    return check(av_write_trailer(muxer_.get()));
  }

  [[nodiscard]] Status finish() {
    avio_flush(bridge_.io());
    if (bridge_.error()) return std::unexpected(*bridge_.error());
    if (side_ && bridge_.file().can_read_back()) side_->compare(*muxer_, bridge_.file(), bridge_.bytes());
    return bridge_.file().commit();
  }

  [[nodiscard]] std::vector<std::string> not_kept() const {
    std::vector<std::string> words = not_kept_;
    if (side_) std::ranges::copy(side_->not_kept(), std::back_inserter(words));
    return words;
  }

  [[nodiscard]] WrittenAs written_as() const {
    const std::string name = avcodec_get_name(parameters_->codec_id);
    const auto known = std::ranges::find_if(
        codecs(), [&](const Codec& each) { return each.name == (name == "hevc" ? "h265" : name); });
    if (known == codecs().end())
      return {.codec = name, .title = name, .fallback = {}, .bytes = bridge_.bytes()};
    WrittenAs written = video::written_as({.codec = &*known});
    written.bytes = bridge_.bytes();
    return written;
  }

 private:
  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] Status check(int code) const {
    if (bridge_.error()) return std::unexpected(*bridge_.error());
    if (code < 0) return failure("{}: writing failed ({})", name(), ffmpeg_message(code));
    return {};
  }

  [[nodiscard]] Status open_side() {
    if (video_.side_file.empty()) return {};
    auto streams = std::make_shared<SideStreams>(video_.audio, std::nullopt, std::nullopt, name_);
    auto opened = open_demuxer(video_.side_file, stop_, streams);
    if (!opened) return std::unexpected(opened.error());
    side_input_ = *std::move(opened);
    side_ = std::make_unique<SideCopy>(std::move(streams), container_.suffix);
    return {};
  }

  [[nodiscard]] Status make_stream() {
    stream_ = side_ ? side_->add_streams(*muxer_) : avformat_new_stream(muxer_.get(), nullptr);
    const FfmpegPtr<AVCodecContext> tags(avcodec_alloc_context3(nullptr));
    if (stream_ == nullptr || !tags || avcodec_parameters_to_context(tags.get(), parameters_.get()) < 0)
      return failure("{}: out of memory", name());
    const FrameFormat& format = video_.format;
    const auto mapping = from_ffmpeg(static_cast<AVPixelFormat>(parameters_->format));
    if (!mapping || !mapping->rgb) write_color_tags(format, *tags);
    tags->sample_aspect_ratio = {format.aspect_numerator, format.aspect_denominator};
    tags->field_order = to_ffmpeg(format.field_order);
    tags->codec_tag = 0;
    if (avcodec_parameters_from_context(stream_->codecpar, tags.get()) < 0)
      return failure("{}: out of memory", name());
    stream_->codecpar->video_delay = static_cast<int>(reordering_);
    stream_->time_base = clock_.time_base();
    stream_->avg_frame_rate = {format.rate_numerator, format.rate_denominator};
    stream_->sample_aspect_ratio = tags->sample_aspect_ratio;
    if (video_.properties)
      not_kept_ = write_stream_properties(*video_.properties, *stream_, *muxer_->oformat);
    set_up_muxer(*muxer_, container_, format, clock_, *stream_);
    if (side_) side_->set_shift(video_.shift, clock_.base());
    return {};
  }

  [[nodiscard]] Status copy_part(std::size_t which) {
    const VideoPart& part = video_.parts[which];
    auto demuxer = open_demuxer(part.file, stop_);
    if (!demuxer) return std::unexpected(demuxer.error());
    if (!same_settings(*(*demuxer)->stream().codecpar, *parameters_))
      return failure("{}: was encoded with other settings than {}; do its chunk again with the same millrace",
                     part.file, video_.parts.front().file);
    const std::vector<std::int64_t>& ranks = ranks_[which];
    for (std::size_t n = 0; n < ranks.size(); ++n) {
      if (stop_.stop_requested())
        return std::unexpected(Error{ErrorKind::interrupted, "interrupted; there is no output"});
      const Demuxer::Read read = (*demuxer)->read();
      if ((*demuxer)->read_error()) return std::unexpected(*(*demuxer)->read_error());
      if (read.damage || read.outcome != Demuxer::Outcome::packet)
        return failure("{}: is damaged: {}", part.file, read.damage.value_or("ends too early"));
      if (Status written = write(*read.packet, first_ + ranks[n]); !written) return written;
    }
    first_ += part.frames;
    return {};
  }

  // Presentation time of this frame. Negative numbers continue at the frame duration before the first frame.
  [[nodiscard]] std::int64_t time_of(std::int64_t frame) const {
    const std::int64_t at = std::max<std::int64_t>(frame, 0);
    return times_[static_cast<std::size_t>(at)] - (at - frame) * clock_.frame_duration();
  }

  // The decoding time of the n-th packet is the presentation time of the frame a fixed number of frames
  // earlier. These times increase, across parts too, and never exceed the packet's presentation time.
  [[nodiscard]] Status write(AVPacket& packet, std::int64_t frame) {
    packet.pts = time_of(frame);
    packet.dts = time_of(decoded_++ - reordering_);
    packet.duration = clock_.frame_duration();
    if (video_.last_duration) make_last(packet, frame);
    packet.stream_index = stream_->index;
    packet.pos = -1;
    av_packet_rescale_ts(&packet, clock_.time_base(), stream_->time_base);
    if (side_input_) {
      while (!side_ended_ && !side_is_past(packet.dts))
        if (Status read = read_side(); !read) return read;
      if (Status before = check(side_->write_until(*muxer_, packet.dts, stream_->time_base)); !before)
        return before;
    }
    return check(av_write_frame(muxer_.get(), &packet));
  }

  // Gives the last packet in display order, and that in decoding order, the durations that make the file end
  // with the last frame.
  void make_last(AVPacket& packet, std::int64_t frame) const {
    const std::int64_t frames = std::ssize(times_);
    const std::int64_t last = std::max<std::int64_t>(1, clock_.at(*video_.last_duration));
    if (frame + 1 == frames) packet.duration = last;
    if (decoded_ == frames) end_file_at(times_.back() + last, times_.front(), time_of(-reordering_), packet);
  }

  [[nodiscard]] bool side_is_past(std::int64_t dts) const {
    return side_time_ &&
           av_compare_ts(*side_time_, side_input_->stream().time_base, dts, stream_->time_base) > 0;
  }

  // Reads up to the next packet of the input's own video.
  [[nodiscard]] Status read_side() {
    const Demuxer::Read read = side_input_->read();
    if (side_input_->read_error()) return std::unexpected(*side_input_->read_error());
    if (read.outcome == Demuxer::Outcome::end)
      side_ended_ = true;
    else if (read.packet && read.packet->dts != AV_NOPTS_VALUE)
      side_time_ =
          read.packet->dts + av_rescale_q(video_.shift, clock_.base(), side_input_->stream().time_base);
    return check(side_->relieve(*muxer_));
  }

  const JoinedVideo& video_;
  const std::string name_;
  OutputBridge bridge_;  // declared after the muxer, which writes to it
  const Container& container_;
  WriterClock clock_;
  std::stop_token stop_;
  std::vector<std::vector<std::int64_t>> ranks_;  // one per part
  std::vector<std::int64_t> times_;               // of all frames, in units of the file
  std::int64_t reordering_ = 0;
  MuxerPtr muxer_;
  std::unique_ptr<SideCopy> side_;
  std::unique_ptr<Demuxer> side_input_;
  bool side_ended_ = false;
  std::optional<std::int64_t>
      side_time_;  // of the last packet of its video, on the output's clock, in units of the input
  FfmpegPtr<AVCodecParameters> parameters_;
  AVStream* stream_ = nullptr;
  std::int64_t first_ = 0;  // first frame of the current part
  std::int64_t decoded_ = 0;
  std::vector<std::string> not_kept_;
};

}  // namespace

Result<JoinedFile> LinkedBackend::join_videos(const JoinedVideo& video, const std::string& output,
                                              const JoinOptions& options) const {
  const OwnFfmpegCalls own;
  const Container* const container = container_of(output);
  if (Status takes = check_destination(*container, output); !takes) return std::unexpected(takes.error());
  if (video.parts.empty() || video.times.empty()) return failure("{}: there is nothing to join", output);
  auto file = OutputFile::open(
      output, {.overwrite = options.overwrite, .durable = false, .stop_ends_writes = false}, options.stop);
  if (!file) return std::unexpected(std::move(file.error()));
  Joiner joiner(video, *std::move(file), *container, options.stop);
  Status done = joiner.look_at_parts();
  if (done) done = joiner.open();
  if (done) done = joiner.copy();
  if (done) done = joiner.finish();
  if (!done) return std::unexpected(done.error());
  return JoinedFile{.not_kept = joiner.not_kept(), .written_as = joiner.written_as()};
}

Result<std::int64_t> LinkedBackend::reordering_of(const std::string& file) const {
  const auto index = index_packets(file, {});
  if (!index) return std::unexpected(index.error());
  return reordering_in(ranks_of(*index));
}

}  // namespace millrace::video
