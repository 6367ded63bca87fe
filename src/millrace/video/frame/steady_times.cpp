#include "millrace/video/frame/steady_times.h"

#include <algorithm>
#include <array>

namespace millrace::video {

bool SteadyTimes::looks_ahead(std::optional<std::int64_t> next) const {
  if (!last_) return false;
  return !next || *next <= *last_ || *next - *last_ > 2 * duration_ + 1;
}

std::optional<std::int64_t> SteadyTimes::place(std::span<const std::optional<std::int64_t>> frames) {
  const std::optional<std::int64_t> own = frames.front();
  const std::optional<std::int64_t> placed = last_ ? placed_after_last(frames) : own;
  if (own) given_ = own;
  if (placed) last_ = placed;
  return placed;
}

std::optional<std::int64_t>
SteadyTimes::placed_after_last(std::span<const std::optional<std::int64_t>> frames) const {
  const std::optional<std::int64_t> own = frames.front();
  const std::size_t count = std::min(frames.size(), most_frames);
  // kept[i]: the largest number of frames that can keep their times if frame i is the first of them.
  std::array<std::size_t, most_frames> kept{};
  for (std::size_t i = count; i-- > 0;) {
    if (!frames[i] || *frames[i] <= *last_) continue;
    kept.at(i) = 1;
    for (std::size_t later = i + 1; later < count; ++later)
      if (frames[later] && *frames[later] > *frames[i]) kept.at(i) = std::max(kept.at(i), kept.at(later) + 1);
  }
  const auto rest = std::span(kept).subspan(1, count - 1);
  const auto best = std::ranges::max_element(rest);
  const std::size_t without = best == rest.end() ? 0 : *best;
  if (kept.front() > 0 && kept.front() >= without) return own;
  if (without == 0) {
    if (!own) return own;
    return *last_ + step_after_last(*own);
  }
  const auto frames_to_next = best - rest.begin() + 2;
  const std::int64_t next = *frames[static_cast<std::size_t>(frames_to_next - 1)];
  return *last_ + std::clamp<std::int64_t>((next - *last_) / frames_to_next, 1, duration_);
}

// No frame in the window is later than the last one placed.
std::int64_t SteadyTimes::step_after_last(std::int64_t own) const {
  constexpr std::int64_t most_behind = 100;  // frames; further back it is another clock
  constexpr std::int64_t faster = 4;
  const bool goes_on = given_ && own > *given_ && *last_ - own < most_behind * duration_;
  return goes_on ? std::max<std::int64_t>(1, duration_ / faster) : duration_;
}

}  // namespace millrace::video
