#include "millrace/video/frame/clock_jumps.h"

#include <algorithm>

namespace millrace::video {
namespace {

// Sloppy muxers write packets that go back by less than this.
constexpr std::int64_t tolerance = 100'000;
// After one stream has jumped, the others may still have this much from before the jump.
constexpr std::int64_t unseen_before_jump = 1'000'000;
// A time this far ahead may be wrong.
constexpr std::int64_t far_ahead = tolerance;

}  // namespace

ClockJumps::Stream ClockJumps::stream_at(std::size_t index) const {
  return index < streams_.size() ? streams_[index] : Stream{.part = parts_.size() - 1};
}

// Returns the part in which the stream continues: its own, or a later one that another stream has begun.
std::optional<std::size_t> ClockJumps::fitting_part(const Stream& stream, std::int64_t decoded) const {
  if (!stream.next || decoded + parts_[stream.part].moved_by >= *stream.next - tolerance) return stream.part;
  for (std::size_t part = stream.part + 1; part < parts_.size(); ++part)
    if (decoded + parts_[part].moved_by >= *stream.next - unseen_before_jump) return part;
  return std::nullopt;
}

bool ClockJumps::looks_ahead(std::size_t stream, std::int64_t decoded, bool dense) const {
  if (!dense) return false;
  const Stream own = stream_at(stream);
  return !fitting_part(own, decoded) ||
         (own.next && decoded + parts_[own.part].moved_by > *own.next + far_ahead);
}

bool ClockJumps::goes_back(std::size_t stream, std::int64_t decoded) const {
  return !fitting_part(stream_at(stream), decoded);
}

std::int64_t ClockJumps::moved_by(std::size_t stream) const {
  return parts_[stream_at(stream).part].moved_by;
}

// What lies between the decoding times is the picture shown at the first of them. It is in one of the last
// packets.
std::int64_t ClockJumps::until_next(std::size_t stream, std::int64_t duration, int delay) {
  if (delay <= 0) return duration;
  if (stream >= durations_.size()) durations_.resize(stream + 1);
  std::deque<std::int64_t>& last = durations_[stream];
  last.push_back(duration);
  // Encoders move a picture by 16 at most, and decoders hold back 16 at most.
  constexpr std::size_t enough = 33;
  if (last.size() > enough) last.pop_front();
  return *std::ranges::min_element(last);
}

std::int64_t ClockJumps::place(std::size_t stream, std::int64_t decoded, std::int64_t duration, bool dense,
                               std::optional<std::int64_t> next_of_stream) {
  if (stream >= streams_.size()) streams_.resize(stream + 1, Stream{.part = parts_.size() - 1});
  Stream& own = streams_[stream];
  if (!dense) {
    // Without more information, takes the last part that has begun by this time.
    std::size_t part = parts_.size() - 1;
    while (part > own.part && decoded < parts_[part].begin - tolerance)
      --part;
    own.part = part;
    return parts_[part].moved_by;
  }
  if (const auto fitting = fitting_part(own, decoded)) {
    own.part = *fitting;
  } else {
    // If the next packet is where this one should be, only this packet's time is wrong.
    const bool wrong = next_of_stream && *next_of_stream + parts_[own.part].moved_by >= *own.next - tolerance;
    if (wrong) return parts_[own.part].moved_by;
    const std::int64_t at = std::max(end_, *own.next);
    const std::int64_t was = decoded + parts_.back().moved_by;
    parts_.push_back({.moved_by = at - decoded, .begin = decoded});
    jumps_.push_back({.at = at, .back = at - was});
    own.part = parts_.size() - 1;
  }
  const std::int64_t placed = decoded + parts_[own.part].moved_by;
  // If this packet is far ahead of its successor, later packets must not be judged by it.
  const bool alone =
      own.next && placed > *own.next + far_ahead && next_of_stream && *next_of_stream < decoded;
  if (!alone) {
    own.next = placed + std::max<std::int64_t>(duration, 1);
    end_ = std::max(end_, *own.next);
  }
  return parts_[own.part].moved_by;
}

}  // namespace millrace::video
