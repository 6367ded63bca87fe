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
  if (!last_) {
    last_ = own;
    return own;
  }
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
  if (kept.front() > 0 && kept.front() >= without) return last_ = own;
  if (without == 0) {
    if (!own) return own;
    return last_ = *last_ + duration_;
  }
  const auto frames_to_next = best - rest.begin() + 2;
  const std::int64_t next = *frames[static_cast<std::size_t>(frames_to_next - 1)];
  return last_ = *last_ + std::clamp<std::int64_t>((next - *last_) / frames_to_next, 1, duration_);
}

}  // namespace millrace::video
