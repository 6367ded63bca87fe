#include "millrace/video/ffmpeg/demuxer.h"

#include "millrace/video/coded/loop_count.h"
#include "millrace/video/ffmpeg/entry_packets.h"
#include "millrace/video/ffmpeg/ffv1_packet.h"
#include "millrace/video/ffmpeg/matroska_size.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace millrace::video {
namespace {

// Damaged headers give times of thousands of years, with which nothing can be calculated.
void forget_absurd_times(AVPacket& packet, AVRational unit) {
  constexpr std::int64_t most = std::int64_t{1} << 60;  // microseconds
  for (std::int64_t* each : {&packet.pts, &packet.dts})
    if (*each != AV_NOPTS_VALUE && std::abs(av_rescale_q(*each, unit, AV_TIME_BASE_Q)) > most)
      *each = AV_NOPTS_VALUE;
}

// A demuxer of raw H.264 or HEVC knows its single stream without probing, which would decode some twenty
// frames and discard them. Checks the name, because the flag for formats without timestamps needs FFmpeg 6.
bool is_elementary_stream(const AVFormatContext& format) {
  const std::string_view name = format.iformat->name;
  return format.nb_streams == 1 && (name == "h264" || name == "hevc");
}

}  // namespace

Result<std::unique_ptr<Demuxer>> Demuxer::open(std::unique_ptr<InputFile> file,
                                               std::shared_ptr<SideStreams> side) {
  std::unique_ptr<Demuxer> demuxer(new Demuxer(std::move(file), std::move(side)));
  if (Status opened = demuxer->open(); !opened) return std::unexpected(std::move(opened.error()));
  return demuxer;
}

Status Demuxer::open() {
  if (bridge_.io() == nullptr) return failure("{}: out of memory", name_);
  if (Status looked = look_at_start(); !looked) return looked;
  if (Status opened = open_container(false); !opened) return opened;
  // Sound may begin later than FFmpeg's probing reaches, so look a second time.
  if (side_ && bridge_.file().is_regular() && has_unknown_sound() &&
      avio_seek(bridge_.io(), 0, SEEK_SET) == 0)
    if (Status opened = open_container(true); !opened) return opened;
  const int index = av_find_best_stream(container_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0) return failure("{}: has no video stream; give a file with video in it", name_);
  stream_ = container_->streams[index];
  if (side_) side_->describe(*container_, *stream_);
  choose_streams(index);
  // .mp4 stores durations, which give one continuous clock.
  decoding_times_are_guessed_ = std::string_view(container_->iformat->name).starts_with("matroska");
  clock_may_jump_ = !elementary_ && !std::string_view(container_->iformat->name).starts_with("mov");
  looks_behind_ =
      bridge_.file().is_regular() && std::string_view(container_->iformat->name).contains("matroska");
  // Apple's own encryption, which FFmpeg shows only by this tag.
  if (stream_->codecpar->codec_tag == MKTAG('d', 'r', 'm', 'i'))
    return failure("{}: its video is encrypted (FairPlay); give one that is not", name_);
  return {};
}

bool Demuxer::has_unknown_sound() const {
  for (unsigned i = 0; i < container_->nb_streams; ++i) {
    const AVCodecParameters& codec = *container_->streams[i]->codecpar;
    if (codec.codec_type == AVMEDIA_TYPE_AUDIO && codec.sample_rate <= 0) return true;
  }
  return false;
}

// thorough: probes much more of the file, at the limit of what a user may have to wait for.
Status Demuxer::open_container(bool thorough) {
  const AVInputFormat* kind = nullptr;
  const auto unreadable = [&](int code) -> Status {
    if (const auto error = read_error()) return std::unexpected(*error);
    if (Status known = named_.check_unread(kind); !known) return known;
    return failure("{}: is not a video that FFmpeg can read, or is damaged ({})", name_,
                   ffmpeg_message(code));
  };
  const int probed = av_probe_input_buffer2(bridge_.io(), &kind, name_.c_str(), nullptr, 0, 0);
  if (probed < 0) return unreadable(probed);
  if (const char* why = why_refused(*kind)) return failure("{}: {}", name_, why);
  if (Status fits = named_.check(*kind); !fits) return fits;
  AVFormatContext* context = avformat_alloc_context();
  if (context == nullptr) return failure("{}: out of memory", name_);
  context->pb = bridge_.io();
  context->opaque = &messages_;
  FfmpegPtr<AVDictionary> options;
  named_.guard(*context, options);
  // avformat_open_input() frees the context if it fails.
  AVDictionary* left = options.release();
  // An MPEG transport stream can list its streams again at any point. FFmpeg checks that only with this
  // option.
  if (thorough) av_dict_set(&left, "scan_all_pmts", "1", 0);
  const int opened = avformat_open_input(&context, name_.c_str(), kind, &left);
  options.reset(left);
  named_.end_header();
  if (opened < 0) return unreadable(opened);
  container_.reset(context);
  elementary_ = is_elementary_stream(*context);
  // Errors in headers and indices do not cost any frame, so ignore them.
  const auto of_headers = messages_.take();
  if (std::ranges::any_of(of_headers, &FfmpegMessages::Message::outside))
    return failure(
        "{}: one of its tracks is in another file, which is not opened; copy all into one file first, as by "
        "ffmpeg -enable_drefs 1 -i FILE -c copy OUT.mov",
        name_);
  if (thorough) {
    context->probesize = std::int64_t{64} << 20;
    context->max_analyze_duration = std::int64_t{60} * AV_TIME_BASE;
  }
  if (!elementary_ && avformat_find_stream_info(context, nullptr) < 0) {
    if (const auto error = read_error()) return std::unexpected(*error);
    return failure("{}: its streams cannot be made out; it is damaged or not a video", name_);
  }
  if (const auto error = named_.error()) return std::unexpected(*error);
  return {};
}

void Demuxer::choose_streams(int main) {
  stream_ = container_->streams[main];
  for (unsigned each = 0; each < container_->nb_streams; ++each) {
    const int number = static_cast<int>(each);
    const bool wanted = number == main || (side_ && side_->takes(number));
    container_->streams[each]->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
}

std::optional<Error> Demuxer::read_error() const {
  if (bridge_.error()) return bridge_.error();
  if (named_.error()) return named_.error();
  if (unreadable_) return unreadable_;
  // FFmpeg ended one of its own waits.
  if (bridge_.file().is_stopped()) return Error{ErrorKind::interrupted, name_ + ": reading was stopped"};
  return std::nullopt;
}

Status Demuxer::look_at_start() {
  if (!bridge_.file().is_regular()) return {};
  std::array<std::byte, 4096> start{};
  const Result<std::size_t> count = bridge_.file().read(start);
  if (!count) return std::unexpected(count.error());
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(start.data()), *count);
  expected_size_ = matroska_size(bytes);
  loop_count_ = loop_count_of(bytes);
  return bridge_.file().seek(0);
}

Demuxer::Read Demuxer::read() {
  while (!knows_next())
    read_ahead();
  if (ahead_.front().outcome == Outcome::end)
    return {.outcome = Outcome::end, .damage = ahead_.front().damage};
  Read next = std::move(ahead_.front());
  ahead_.pop_front();
  if (has_checksums_) check_checksums(next);
  return next;
}

bool Demuxer::seek(std::int64_t time) {
  if (elementary_ || !bridge_.file().is_regular()) return false;
  if ((container_->iformat->flags & AVFMT_TS_DISCONT) != 0 && !has_one_clock()) return read_through(time);
  if (!seek_container(time)) {
    if (has_one_clock_) return read_through(time);
    go_back();
    return false;
  }
  if (finds_key_before(time)) return true;
  // A container without an index is searched by its clock, so the search may end between two keyframes. Not
  // every keyframe of an index is an entry.
  const std::int64_t begin = first_time_.value_or(time);
  std::int64_t back =
      std::max<std::int64_t>(1, av_rescale_q(AV_TIME_BASE / 2, AV_TIME_BASE_Q, stream_->time_base));
  constexpr int most_steps = 30;  // the last one is of years
  for (int step = 0; step<most_steps&& static_cast<__int128>(time) - back> begin; ++step) {
    if (seek_container(time - back) && finds_key_before(time)) return true;
    back *= 2;
  }
  return begin_again();
}

bool Demuxer::seek_container(std::int64_t time) {
  if (av_seek_frame(container_.get(), stream_->index, time, AVSEEK_FLAG_BACKWARD) < 0) return false;
  forget_place(time);
  return true;
}

// Reads ahead to the next entry, if it is shown at `time` or before. Otherwise returns false, at any
// position.
bool Demuxer::finds_key_before(std::int64_t time) {
  for (;;) {
    ahead_.clear();
    read_ahead();
    const Read& last = ahead_.back();
    if (last.outcome == Outcome::end) return false;
    const AVPacket& packet = *last.packet;
    const std::int64_t decoded = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
    const std::int64_t shown = latest_shown(packet);
    if (shown != AV_NOPTS_VALUE && shown <= time && is_entry(packet, *stream_->codecpar)) return true;
    if (decoded != AV_NOPTS_VALUE && decoded > time) return false;
  }
}

// The time at which the packet's picture is shown, or a later time if the file does not tell; AV_NOPTS_VALUE
// if unknown. MPEG streams leave out the times of some packets, and a decoder needs one to time the others.
std::int64_t Demuxer::latest_shown(const AVPacket& packet) const {
  if (packet.pts != AV_NOPTS_VALUE || packet.dts == AV_NOPTS_VALUE) return packet.pts;
  if ((container_->iformat->flags & AVFMT_TS_DISCONT) != 0) return AV_NOPTS_VALUE;
  const int delay = stream_->codecpar->video_delay;
  return delay > 0 ? packet.dts + (delay + 1) * packet.duration : packet.dts;
}

// Returns to the first packet. Opens the file again, because not every container can be searched for its
// start.
bool Demuxer::begin_again() {
  forget_place(0);
  clock_ = {};
  sought_time_.reset();
  go_back();
  return !unreadable_;
}

void Demuxer::forget_place(std::int64_t time) {
  sought_ = true;
  sought_time_ = time;
  packets_since_seek_ = 0;
  ahead_.clear();
  heard_.clear();
  unplaced_.clear();
  unplaced_end_ = 0;
  joints_.clear();
  until_key_ = 0;
  next_is_doubtful_ = false;
  clock_.forget_places();
  [[maybe_unused]] const auto of_indices = messages_.take();
  last_dts_.reset();
  if (side_) side_->forget_waiting();
}

// These files are searched by their clock. Checks samples of the file for times that run back. Loses the read
// position.
bool Demuxer::has_one_clock() {
  if (has_one_clock_ || !clock_.jumps().empty()) return has_one_clock_;
  constexpr int samples = 32;
  constexpr int most_packets = 4096;
  const auto size = static_cast<std::int64_t>(bridge_.file().size().value_or(0));
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  const FfmpegPtr<AVPacket> packet(av_packet_alloc());
  for (int i = 0; packet && i < samples; ++i) {
    if (av_seek_frame(container_.get(), -1, size / samples * i, AVSEEK_FLAG_BYTE) < 0) return false;
    for (int read = 0; read < most_packets && av_read_frame(container_.get(), packet.get()) >= 0; ++read) {
      const bool tells = packet->stream_index == stream_->index && packet->dts != AV_NOPTS_VALUE;
      const std::int64_t decoded = packet->dts;
      av_packet_unref(packet.get());
      if (!tells) continue;
      if (decoded < last) return false;
      last = decoded;
      break;
    }
  }
  return has_one_clock_ = true;
}

// Like seek(), but reads from the start: if a clock runs back, the time of a packet depends on everything
// before it.
bool Demuxer::read_through(std::int64_t time) {
  if (av_seek_frame(container_.get(), -1, 0, AVSEEK_FLAG_BYTE) < 0) return false;
  forget_place(time);
  clock_ = {};
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  std::size_t bytes = 0;
  while (bytes < most_bytes) {
    read_ahead();
    const Read& last = ahead_.back();
    if (last.outcome == Outcome::end) break;
    const AVPacket& packet = *last.packet;
    const std::int64_t decoded = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
    const std::int64_t shown = latest_shown(packet);
    if (decoded != AV_NOPTS_VALUE && decoded > time) break;
    bytes += static_cast<std::size_t>(packet.size);
    if (shown == AV_NOPTS_VALUE || shown > time || !is_entry(packet, *stream_->codecpar)) continue;
    bytes = static_cast<std::size_t>(packet.size);
    ahead_.erase(ahead_.begin(), ahead_.end() - 1);
  }
  return true;
}

// Returns to the position after the last packet read. Needed if seeking failed: without an index FFmpeg
// searches by reading, and stays at the end of the file if it finds nothing.
void Demuxer::go_back() {
  const int main = stream_->index;
  container_.reset();
  avio_seek(bridge_.io(), 0, SEEK_SET);
  const FfmpegPtr<AVPacket> packet(av_packet_alloc());
  Status opened = packet ? open_container(false) : failure("{}: out of memory", name_);
  const auto is_there = [&] { return opened && main < static_cast<int>(container_->nb_streams); };
  if (is_there()) choose_streams(main);
  bool back = is_there();
  if (back && sought_time_)
    back = av_seek_frame(container_.get(), main, *sought_time_, AVSEEK_FLAG_BACKWARD) >= 0;
  for (std::size_t n = 0; back && n < packets_since_seek_;) {
    back = av_read_frame(container_.get(), packet.get()) >= 0;
    if (packet->stream_index == main) ++n;
    av_packet_unref(packet.get());
  }
  [[maybe_unused]] const auto known = messages_.take();
  if (!back) unreadable_ = Error{ErrorKind::failure, name_ + ": changed while it was read"};
}

std::optional<std::int64_t> Demuxer::packets_expected() const {
  const auto size = bridge_.file().size();
  if (sought_ || !size || bytes_read_ <= 0 || static_cast<std::uint64_t>(bytes_read_) > *size)
    return std::nullopt;
  constexpr double most = 1e12;
  const double share = static_cast<double>(bytes_read_) / static_cast<double>(*size);
  return static_cast<std::int64_t>(std::min(most, static_cast<double>(packets_) / share));
}

void Demuxer::complete_side_streams() {
  FfmpegPtr<AVPacket> packet(av_packet_alloc());
  while (packet && side_ && last_dts_ && !side_->is_complete(*last_dts_, stream_->time_base)) {
    av_packet_unref(packet.get());
    if (read_packet(*packet) < 0) return;
  }
}

// Whether enough was read to tell whether the first packet in ahead_ is intact.
bool Demuxer::knows_next() const {
  if (ahead_.empty()) return false;
  if (ahead_.back().outcome == Outcome::end) return true;
  constexpr std::size_t enough = 16;  // without a valid checksum in so many packets, the stream has none
  if (stream_->codecpar->codec_id == AV_CODEC_ID_FFV1 && !has_checksums_ && packets_ < enough) return false;
  return !looks_behind_ || ahead_.size() > 1;
}

void Demuxer::read_ahead() {
  FfmpegPtr<AVPacket> packet(av_packet_alloc());
  int read = unreadable_ ? AVERROR(EIO) : packet ? read_packet(*packet) : AVERROR(ENOMEM);
  for (FfmpegMessages::Message& message : messages_.take()) {
    if (message.left_out && !unreadable_)
      unreadable_ =
          Error{ErrorKind::failure,
                fmt::format("{}: names a part that is not read ({}); only files in its own folder are", name_,
                            message.text)};
    heard_.push_back(std::move(message));
  }
  read = explained(read, packet.get());

  Read next;
  if (read < 0) {
    if (read != AVERROR_EOF || read_error())
      next.damage = ffmpeg_message(read);
    else if (bridge_.file().size() < expected_size_)
      next.damage = "the file ends too early";
  } else {
    next.outcome = Outcome::packet;
  }
  const bool placed = next.outcome == Outcome::packet && packet->pos >= 0;
  if (auto said = message_before(placed ? std::optional(packet->pos) : std::nullopt)) {
    // Damage usually starts before the place at which it is noticed.
    if (looks_behind_ && !ahead_.empty() && !ahead_.back().damage) ahead_.back().damage = said;
    if (next.outcome == Outcome::packet)
      next.gap = std::move(said);
    else if (!next.damage)
      next.damage = std::move(said);
  }
  if (next.outcome == Outcome::packet) {
    ++packets_;
    ++packets_since_seek_;
    if (!first_time_ && packet->dts != AV_NOPTS_VALUE) first_time_ = packet->dts;
    if (placed) bytes_read_ = packet->pos + packet->size;
    next.packet = std::move(packet);
    heed_flags(next);
    if (stream_->codecpar->codec_id == AV_CODEC_ID_FFV1) {
      const std::span<const std::uint8_t> bytes{next.packet->data,
                                                static_cast<std::size_t>(next.packet->size)};
      has_checksums_ = has_checksums_ || ffv1_checksums_hold(bytes);
      next.packet->flags &= ~AV_PKT_FLAG_KEY;
      if (ffv1_is_key(bytes)) next.packet->flags |= AV_PKT_FLAG_KEY;
    }
  }
  ahead_.push_back(std::move(next));
}

// FFmpeg's demuxer flags the last picture of a part as damaged if another part follows it.
void Demuxer::heed_flags(Read& read) {
  if (std::string_view(container_->iformat->name).starts_with("hls")) return heed_flags_of_parts(read);
  const AVPacket& packet = *read.packet;
  // Some programs put a few bytes before each packet of a transport stream.
  constexpr std::int64_t before_packet = 16;
  const auto begun =
      std::ranges::find_if(joints_, [&](std::int64_t joint) { return packet.pos + before_packet >= joint; });
  if (begun != joints_.end()) {
    joints_.erase(begun);
    // Without a keyframe this is not the beginning of another file. Pictures are missing that this one needs.
    if ((packet.flags & AV_PKT_FLAG_KEY) == 0 && !read.gap) read.gap = "the data is incomplete";
  }
  const TransportJoints& joints = bridge_.joints();
  const bool transport = std::string_view(container_->iformat->name) == "mpegts" && packet.pos >= 0;
  // Due to its parser, FFmpeg may flag only the picture before the one that lacks data.
  if (transport && joints.lacks_data(stream_->id, packet.pos)) read.damage = "the data is incomplete";
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) == 0) return;
  const auto joint = transport ? joints.only_joint(stream_->id, packet.pos) : std::nullopt;
  if (!joint)
    read.damage = "the data is incomplete";
  else if (std::ranges::find(joints_, *joint) == joints_.end() && packet.pos + before_packet < *joint)
    joints_.push_back(*joint);
}

// The parts are files that a playlist names. Their packets have no position by which they could be told
// apart. Due to its parser, FFmpeg may flag the picture before the one at the end of a part.
void Demuxer::heed_flags_of_parts(Read& read) {
  const AVPacket& packet = *read.packet;
  if (std::exchange(next_is_doubtful_, false)) read.damage = "the data is incomplete";
  if ((packet.flags & AV_PKT_FLAG_KEY) != 0)
    until_key_ = 0;
  else if (until_key_ > 0 && --until_key_ == 0 && !read.gap)
    read.gap = "the data is incomplete";  // not the beginning of another video: pictures are missing
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) == 0) return;
  if (!named_.lack_data()) {
    until_key_ = 2;
    return;
  }
  read.damage = "the data is incomplete";
  next_is_doubtful_ = true;
}

// Replaces FFmpeg's result of reading a packet if its code is misleading. Sets unreadable_ if no program
// could read the file.
int Demuxer::explained(int code, const AVPacket* packet) {
  const std::string_view kind = container_ ? container_->iformat->name : "";
  // A demuxer goes on without files that it may not open.
  if (code >= 0 && read_error()) return AVERROR(EACCES);
  if (code >= 0) {
    if (av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, nullptr) == nullptr) return code;
    unreadable_ =
        Error{ErrorKind::failure, name_ + ": its video is encrypted; decrypt it first, as by ffmpeg "
                                          "-decryption_key KEY -i FILE -c copy OUT.mp4"};
    return AVERROR(EACCES);
  }
  // At the end of the file, the demuxer still looks for another part.
  if (kind == "mpjpeg" && code == AVERROR_INVALIDDATA && avio_feof(container_->pb) != 0) return AVERROR_EOF;
  if (packets_ == 0 && kind.starts_with("mov") && !bridge_.file().is_regular()) {
    const AVIndexEntry* const first = avformat_index_get_entry(stream_, 0);
    if (first != nullptr && first->pos < avio_tell(container_->pb))
      unreadable_ =
          Error{ErrorKind::failure,
                name_ + ": its index is behind its frames, and what was read from a pipe cannot be read "
                        "again; give the file by its name, or write it with ffmpeg -movflags +faststart"};
  }
  return code;
}

// Returns the next packet of any stream, on the continuous clock.
int Demuxer::next_of_file(AVPacket& packet) {
  if (!clock_may_jump_) return av_read_frame(container_.get(), &packet);
  if (unplaced_.empty() && !read_unplaced()) return std::exchange(unplaced_end_, 0);
  av_packet_move_ref(&packet, unplaced_.front().get());
  unplaced_.pop_front();
  const AVStream& stream = *container_->streams[packet.stream_index];
  forget_absurd_times(packet, stream.time_base);
  const auto microseconds = [&](std::int64_t time) {
    return av_rescale_q(time, stream.time_base, AV_TIME_BASE_Q);
  };
  const auto number = static_cast<std::size_t>(packet.stream_index);
  const AVMediaType kind = stream.codecpar->codec_type;
  const bool cover = (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  const bool dense = (kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO) && !cover;
  // Pictures are not stored in display order, so their presentation times do not help.
  std::int64_t time = packet.dts != AV_NOPTS_VALUE || kind == AVMEDIA_TYPE_VIDEO ? packet.dts : packet.pts;
  // Matroska stores no decoding times. FFmpeg guesses them, and wrongly for video that begins late. Only
  // keyframes are shown after all that comes before them.
  const bool guessed = kind == AVMEDIA_TYPE_VIDEO && !cover && decoding_times_are_guessed_;
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  if (guessed && key) time = packet.pts;
  const std::int64_t lasts =
      clock_.until_next(number, microseconds(packet.duration), stream.codecpar->video_delay);
  std::int64_t by = clock_.moved_by(number);
  const bool reordered =
      guessed && !key && time != AV_NOPTS_VALUE && clock_.goes_back(number, microseconds(time));
  if (time != AV_NOPTS_VALUE && !cover && !reordered) {
    const std::int64_t decoded = microseconds(time);
    std::optional<std::int64_t> next;
    if (clock_.looks_ahead(number, decoded, dense)) next = time_of_next(packet.stream_index);
    by = clock_.place(number, decoded, lasts, dense, next);
  }
  if (by == 0) return 0;
  const std::int64_t own = av_rescale_q(by, AV_TIME_BASE_Q, stream.time_base);
  for (std::int64_t* each : {&packet.pts, &packet.dts})
    if (*each != AV_NOPTS_VALUE) *each += own;
  return 0;
}

bool Demuxer::read_unplaced() {
  if (unplaced_end_ < 0) return false;
  FfmpegPtr<AVPacket> packet(av_packet_alloc());
  unplaced_end_ = packet ? av_read_frame(container_.get(), packet.get()) : AVERROR(ENOMEM);
  if (unplaced_end_ < 0) return false;
  unplaced_.push_back(std::move(packet));
  return true;
}

// Decoding time of the stream's next packet, on the file's clock; none if it is not within reach.
std::optional<std::int64_t> Demuxer::time_of_next(int stream) {
  constexpr std::size_t most_packets = 1024;
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < most_packets && bytes < most_bytes && (i < unplaced_.size() || read_unplaced());
       ++i) {
    const AVPacket& packet = *unplaced_[i];
    bytes += static_cast<std::size_t>(packet.size);
    if (packet.stream_index != stream) continue;
    if (packet.dts == AV_NOPTS_VALUE) return std::nullopt;
    return av_rescale_q(packet.dts, container_->streams[stream]->time_base, AV_TIME_BASE_Q);
  }
  return std::nullopt;
}

// Reads the next packet of the video and passes on packets of other streams before it.
//
// If an index tells where each packet is, the video may be intact although other streams are missing. So if
// reading fails, it goes on without the other streams, unless a video packet is missing.
int Demuxer::read_packet(AVPacket& packet) {
  int failed = 0;
  std::vector<FfmpegMessages::Message> said;
  std::shared_ptr<SideStreams> given_up;
  for (;;) {
    const int read = next_of_file(packet);
    if (read < 0 && failed == 0 && may_do_without_side()) {
      failed = read;
      said = messages_.take();
      given_up = std::exchange(side_, nullptr);
      given_up->end_input();
      choose_streams(stream_->index);
      continue;
    }
    const bool of_video = read >= 0 && packet.stream_index == stream_->index;
    // Repeats the picture before it, which is simply shown on. FFmpeg before 8 leaves out such packets.
    if (of_video && packet.size == 0 && stream_->codecpar->codec_id == AV_CODEC_ID_THEORA) {
      av_packet_unref(&packet);
      continue;
    }
    if (failed < 0 && of_video && follows_last(packet)) {
      given_up->break_off("the data is incomplete");
      said.clear();
    } else if (failed < 0 && of_video && said.empty()) {
      said.push_back({.at = packet.pos, .concealed = false, .text = "the data is incomplete"});
    }
    if (read < 0 && failed < 0 && has_all_video()) {
      if (failed != AVERROR_EOF || !said.empty()) given_up->break_off("the data is incomplete");
      [[maybe_unused]] const auto of_others = messages_.take();
      return AVERROR_EOF;
    }
    if (read < 0 && side_) side_->end_input();
    if (read < 0 || of_video) {
      heard_.insert(heard_.end(), std::make_move_iterator(said.begin()), std::make_move_iterator(said.end()));
      if (of_video) last_dts_ = packet.dts;
      return read < 0 && failed < 0 ? failed : read;
    }
    FfmpegPtr<AVPacket> other(side_ ? av_packet_alloc() : nullptr);
    if (other) {
      av_packet_move_ref(other.get(), &packet);
      side_->push(std::move(other));
    } else {
      av_packet_unref(&packet);
    }
  }
}

bool Demuxer::may_do_without_side() const {
  return side_ && !read_error() && std::string_view(container_->iformat->name).starts_with("mov");
}

// Whether the last packet read is the last in the index.
bool Demuxer::has_all_video() const {
  const int entries = avformat_index_get_entries_count(stream_);
  return last_dts_ && entries > 0 &&
         av_index_search_timestamp(stream_, *last_dts_, AVSEEK_FLAG_ANY) == entries - 1;
}

// Whether the index has no packet between the last one and this one.
bool Demuxer::follows_last(const AVPacket& packet) const {
  const auto place = [&](std::int64_t dts) {
    return av_index_search_timestamp(stream_, dts, AVSEEK_FLAG_ANY);
  };
  return place(packet.dts) == (last_dts_ ? place(*last_dts_) + 1 : 0);
}

// Returns the first message about positions up to this one (all positions if none is given), and removes
// those messages.
std::optional<std::string> Demuxer::message_before(std::optional<std::int64_t> position) {
  std::optional<std::string> said;
  std::erase_if(heard_, [&](FfmpegMessages::Message& message) {
    if (position && message.at > *position) return false;
    if (!said) said = std::move(message.text);
    return true;
  });
  return said;
}

void Demuxer::check_checksums(Read& read) {
  if (!read.damage && !ffv1_checksums_hold({read.packet->data, static_cast<std::size_t>(read.packet->size)}))
    read.damage = "the checksum is wrong";
}

}  // namespace millrace::video
