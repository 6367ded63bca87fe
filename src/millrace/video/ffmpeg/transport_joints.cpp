#include "millrace/video/ffmpeg/transport_joints.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::video {
namespace {

constexpr std::size_t bare_packet = 188;
constexpr std::uint8_t sync_byte = 0x47;
constexpr int empty_pid = 0x1fff;
constexpr int any_pid = -1;
// Transport packets that must follow each other to be taken for such, and the bytes in which they are looked
// for.
constexpr std::size_t enough = 5;
constexpr std::size_t bytes_to_find = 2048;

// Bytes of the adaptation field that mean something, without its length.
std::size_t used_by_fields(std::span<const std::uint8_t> field) {
  const std::uint8_t flags = field[0];
  std::size_t used = 1;
  if ((flags & 0x10U) != 0) used += 6;               // clock reference
  if ((flags & 0x08U) != 0) used += 6;               // original clock reference
  if ((flags & 0x04U) != 0) used += 1;               // splice countdown
  for (const std::uint8_t has_bytes : {0x02, 0x01})  // private data, extension
    if ((flags & has_bytes) != 0) used += 1 + (used < field.size() ? field[used] : 0);
  return used;
}

}  // namespace

void TransportJoints::see(std::int64_t position, std::span<const std::uint8_t> bytes) {
  if (off_) return;
  if (position != position_ + std::ssize(waiting_)) forget_after(position);
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
  std::size_t at = 0;
  for (;;) {
    const bool lost = packet_size_ > 0 && at < waiting_.size() && waiting_[at] != sync_byte;
    if (lost) note_lost_packets(position_ + static_cast<std::int64_t>(at));
    if (lost || packet_size_ == 0) {
      forget(std::exchange(at, 0));
      packet_size_ = 0;
      if (waiting_.size() < bytes_to_find) return;
      if (find_packets()) continue;
      off_ = !found_;
      return;
    }
    if (waiting_.size() - at < packet_size_) break;
    see_packet(position_ + static_cast<std::int64_t>(at), std::span(waiting_).subspan(at, bare_packet));
    at += packet_size_;
  }
  forget(at);
}

// Drops the first bytes.
void TransportJoints::forget(std::size_t bytes) {
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(bytes));
  position_ += static_cast<std::int64_t>(bytes);
}

// Moves to the next place where several packets follow each other. Returns false if there is none in reach.
bool TransportJoints::find_packets() {
  constexpr std::array<std::size_t, 3> sizes{bare_packet, 192, 204};
  for (std::size_t begin = 0; begin + bare_packet <= waiting_.size(); ++begin)
    for (const std::size_t size : sizes) {
      std::size_t count = 0;
      while (count < enough && begin + count * size < waiting_.size() &&
             waiting_[begin + count * size] == sync_byte)
        ++count;
      if (count < enough) continue;
      forget(begin);
      packet_size_ = size;
      found_ = true;
      return true;
    }
  forget(waiting_.size());
  return false;
}

void TransportJoints::forget_after(std::int64_t position) {
  waiting_.clear();
  position_ = position;
  packet_size_ = 0;
  streams_.clear();
  std::erase_if(jumps_, [position](const Jump& jump) { return jump.at >= position; });
}

void TransportJoints::see_packet(std::int64_t position, std::span<const std::uint8_t> packet) {
  const int pid = (packet[1] & 0x1f) << 8 | packet[2];
  if (pid == empty_pid) return;
  const bool has_field = (packet[3] & 0x20U) != 0;
  const bool has_content = (packet[3] & 0x10U) != 0;
  const bool begins = (packet[1] & 0x40U) != 0;
  const std::size_t field = has_field ? packet[4] : 0;
  Stream& stream = streams_[pid];
  const bool broken = (packet[1] & 0x80U) != 0 || field > bare_packet - 5;
  if (broken) note({.at = position, .pid = pid, .picture = begins ? position : stream.begin});
  if (!has_content || field > bare_packet - 5) return;

  if (stream.number < 0) stream.begins_inside = !begins;
  const int number = packet[3] & 0xf;
  const bool told = has_field && field > 0 && (packet[5] & 0x80U) != 0;
  const bool follows = stream.number < 0 || told || number == (stream.number + 1) % 16;
  if (!follows)
    note({.at = position, .pid = pid, .joint = begins && stream.has_ended(), .picture = stream.begin});
  stream.number = number;

  const std::span<const std::uint8_t> content = packet.subspan(has_field ? 5 + field : 4);
  stream.padded = has_field && (field == 0 || used_by_fields(packet.subspan(5, field)) < field);
  if (begins) {
    stream.begin = position;
    stream.whole = content.size() >= 6 && content[0] == 0 && content[1] == 0 && content[2] == 1;
    stream.has_pictures = stream.has_pictures || stream.whole;
    stream.remaining.reset();
    if (const int size = stream.whole ? content[4] << 8 | content[5] : 0; size > 0)
      stream.remaining = size + 6;
  } else {
    stream.whole = stream.whole && follows;
  }
  stream.whole = stream.whole && !broken;
  if (stream.remaining) *stream.remaining -= static_cast<int>(content.size());
}

void TransportJoints::note(const Jump& jump) {
  constexpr std::size_t most = 4096;
  if (!jumps_.empty() && jumps_.back().at == jump.at && jumps_.back().pid == jump.pid)
    jumps_.back().joint = jumps_.back().joint && jump.joint;
  else
    jumps_.push_back(jump);
  if (jumps_.size() > most) jumps_.pop_front();
}

void TransportJoints::note_lost_packets(std::int64_t position) {
  note({.at = position, .pid = any_pid});
  for (const auto& [pid, stream] : streams_)
    note({.at = position, .pid = pid, .picture = stream.begin});
}

bool TransportJoints::is_damaged(std::int64_t size) const {
  if (!found_) return !waiting_.empty() && waiting_.front() == sync_byte;  // too short to tell
  const auto tables = [&](int pid) {
    const auto stream = streams_.find(pid);
    return stream != streams_.end() && !stream->second.has_pictures;
  };
  if (std::ranges::any_of(jumps_, [&](const Jump& jump) { return !jump.joint && !tables(jump.pid); }))
    return true;
  if (std::ranges::any_of(streams_, [](const auto& each) { return each.second.begins_inside; })) return true;
  if (position_ + std::ssize(waiting_) < size) return false;
  return !waiting_.empty() || std::ranges::any_of(streams_, [](const auto& each) {
    return each.second.has_pictures && !each.second.has_ended();
  });
}

bool TransportJoints::lacks_data(int pid, std::int64_t position) const {
  // FFmpeg counts from the bytes that some programs put before each packet.
  constexpr std::int64_t before_packet = 16;
  return std::ranges::any_of(jumps_, [&](const Jump& jump) {
    return !jump.joint && jump.pid == pid && jump.picture >= position &&
           jump.picture < position + before_packet;
  });
}

std::optional<std::int64_t> TransportJoints::only_joint(int pid, std::int64_t from) const {
  std::optional<std::int64_t> first;
  for (const Jump& jump : jumps_) {
    if (jump.at < from || (jump.pid != pid && jump.pid != any_pid)) continue;
    if (!jump.joint) return std::nullopt;
    if (!first) first = jump.at;
  }
  return first;
}

}  // namespace millrace::video
