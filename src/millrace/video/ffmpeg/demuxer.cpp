#include "millrace/video/ffmpeg/demuxer.h"

#include "millrace/video/ffmpeg/ffv1_checksum.h"
#include "millrace/video/ffmpeg/matroska_size.h"

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace millrace::video {
namespace {

// A demuxer of bare H.264 or HEVC knows its one stream without looking into it. Probing would decode some
// twenty frames and throw them away. By name: the flag that says that there are no timestamps is FFmpeg 6's.
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
  if (Status opened = open_container(); !opened) return opened;
  const int index = av_find_best_stream(container_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0) return failure("{}: has no video stream; give a file with video in it", name_);
  stream_ = container_->streams[index];
  if (side_) side_->describe(*container_, *stream_);
  choose_streams(index);
  looks_behind_ =
      bridge_.file().is_regular() && std::string_view(container_->iformat->name).contains("matroska");
  // Apple's own way, of which FFmpeg tells by this name alone.
  if (stream_->codecpar->codec_tag == MKTAG('d', 'r', 'm', 'i'))
    return failure("{}: its video is encrypted (FairPlay); give one that is not", name_);
  return {};
}

Status Demuxer::open_container() {
  const auto unreadable = [&](int code) -> Status {
    if (const auto error = read_error()) return std::unexpected(*error);
    return failure("{}: is not a video that FFmpeg can read, or is damaged ({})", name_,
                   ffmpeg_message(code));
  };
  const AVInputFormat* kind = nullptr;
  const int probed = av_probe_input_buffer2(bridge_.io(), &kind, name_.c_str(), nullptr, 0, 0);
  if (probed < 0) return unreadable(probed);
  if (const char* why = why_refused(*kind)) return failure("{}: {}", name_, why);
  AVFormatContext* context = avformat_alloc_context();
  if (context == nullptr) return failure("{}: out of memory", name_);
  context->pb = bridge_.io();
  context->opaque = &messages_;
  FfmpegPtr<AVDictionary> options;
  named_.guard(*context, options);
  // Frees the context when it fails.
  AVDictionary* left = options.release();
  const int opened = avformat_open_input(&context, name_.c_str(), kind, &left);
  options.reset(left);
  if (opened < 0) return unreadable(opened);
  container_.reset(context);
  elementary_ = is_elementary_stream(*context);
  // Headers and indices that are not as they should be take no frame away.
  [[maybe_unused]] const auto of_headers = messages_.take();
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
  // FFmpeg has ended a wait of its own.
  if (bridge_.file().is_stopped()) return Error{ErrorKind::interrupted, name_ + ": reading was stopped"};
  return std::nullopt;
}

Status Demuxer::look_at_start() {
  if (!bridge_.file().is_regular()) return {};
  std::array<std::byte, 64> start{};
  const Result<std::size_t> count = bridge_.file().read(start);
  if (!count) return std::unexpected(count.error());
  expected_size_ = matroska_size({reinterpret_cast<const std::uint8_t*>(start.data()), *count});
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
  if (av_seek_frame(container_.get(), stream_->index, time, AVSEEK_FLAG_BACKWARD) < 0) {
    go_back();
    return false;
  }
  sought_ = true;
  sought_time_ = time;
  packets_since_seek_ = 0;
  ahead_.clear();
  heard_.clear();
  [[maybe_unused]] const auto of_indices = messages_.take();
  last_dts_.reset();
  if (side_) side_->forget_waiting();
  return true;
}

// To behind the last packet that was read. Where FFmpeg knows of no index, it looks for a time by reading,
// and stays at the end of the file if there is none.
void Demuxer::go_back() {
  const int main = stream_->index;
  container_.reset();
  avio_seek(bridge_.io(), 0, SEEK_SET);
  const FfmpegPtr<AVPacket> packet(av_packet_alloc());
  Status opened = packet ? open_container() : failure("{}: out of memory", name_);
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

// Whether what was read is enough to tell whether the first of it is whole.
bool Demuxer::knows_next() const {
  if (ahead_.empty()) return false;
  if (ahead_.back().outcome == Outcome::end) return true;
  constexpr std::size_t enough = 16;  // pictures without a checksum that holds: there are none
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
    // What is wrong seldom begins just where it is noticed.
    if (looks_behind_ && !ahead_.empty() && !ahead_.back().damage) ahead_.back().damage = said;
    if (next.outcome == Outcome::packet)
      next.gap = std::move(said);
    else if (!next.damage)
      next.damage = std::move(said);
  }
  if (next.outcome == Outcome::packet) {
    ++packets_;
    ++packets_since_seek_;
    if (placed) bytes_read_ = packet->pos + packet->size;
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0) next.damage = "the data is incomplete";
    next.packet = std::move(packet);
    if (!has_checksums_ && stream_->codecpar->codec_id == AV_CODEC_ID_FFV1)
      has_checksums_ = ffv1_checksums_hold({next.packet->data, static_cast<std::size_t>(next.packet->size)});
  }
  ahead_.push_back(std::move(next));
}

// What reading a packet came to, where FFmpeg's code does not tell; why in words, if nobody could read it.
int Demuxer::explained(int code, const AVPacket* packet) {
  const std::string_view kind = container_ ? container_->iformat->name : "";
  // A demuxer goes on without what it may not open.
  if (code >= 0 && read_error()) return AVERROR(EACCES);
  if (code >= 0) {
    if (av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, nullptr) == nullptr) return code;
    unreadable_ =
        Error{ErrorKind::failure, name_ + ": its video is encrypted; decrypt it first, as by ffmpeg "
                                          "-decryption_key KEY -i FILE -c copy OUT.mp4"};
    return AVERROR(EACCES);
  }
  // It looks for the next part where there is none.
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

// The next packet of the video; those of other streams before it are handed on.
//
// In a file whose index tells where each packet is, other streams may be missing where the video is still
// whole. So where reading fails it goes on without them, unless a packet of the video is what is missing.
int Demuxer::read_packet(AVPacket& packet) {
  int failed = 0;
  std::vector<FfmpegMessages::Message> said;
  std::shared_ptr<SideStreams> given_up;
  for (;;) {
    const int read = av_read_frame(container_.get(), &packet);
    if (read < 0 && failed == 0 && may_do_without_side()) {
      failed = read;
      said = messages_.take();
      given_up = std::exchange(side_, nullptr);
      choose_streams(stream_->index);
      continue;
    }
    const bool of_video = read >= 0 && packet.stream_index == stream_->index;
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

// Whether the last packet is the last one of the index.
bool Demuxer::has_all_video() const {
  const int entries = avformat_index_get_entries_count(stream_);
  return last_dts_ && entries > 0 &&
         av_index_search_timestamp(stream_, *last_dts_, AVSEEK_FLAG_ANY) == entries - 1;
}

// Whether the index has nothing between the last packet and this one.
bool Demuxer::follows_last(const AVPacket& packet) const {
  const auto place = [&](std::int64_t dts) {
    return av_index_search_timestamp(stream_, dts, AVSEEK_FLAG_ANY);
  };
  return place(packet.dts) == (last_dts_ ? place(*last_dts_) + 1 : 0);
}

// What was said of places before this one, or of any.
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
