#include "millrace/run/video/second_input.h"

#include "millrace/base/numbers/counted.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace millrace::run {

Status SecondInput::open(const video::FrameFormat& first) {
  input_.convert_to({.chroma = first.chroma, .bits = first.bits});
  if (Status opened = input_.open(); !opened) return opened;
  const video::FrameFormat& own = format();
  if (own.chroma != first.chroma || own.bits != first.bits)
    return usage_error(
        "{}: the second video is {}, which has other samples than the first one, {}; convert it",
        source_.name, video::to_string(own), video::to_string(first));
  time_.emplace(own);
  return {};
}

std::vector<std::string> SecondInput::warnings(const video::FrameFormat& first) const {
  const video::FrameFormat& own = format();
  const auto is_full = [](const video::FrameFormat& f) { return f.range == video::ColorRange::full; };
  constexpr int unspecified = 2;
  std::vector<std::string> lines;
  if (is_full(own) != is_full(first))
    lines.push_back(fmt::format("{}: has {} range, the first video {}; samples are mixed as they are",
                                source_.name, is_full(own) ? "full" : "limited",
                                is_full(first) ? "full" : "limited"));
  if (own.color_matrix != first.color_matrix && own.color_matrix != unspecified &&
      first.color_matrix != unspecified && own.chroma != video::Chroma::gray)
    lines.push_back(fmt::format("{}: has another colour matrix than the first video (code points {} and {} "
                                "of H.273); samples are mixed as they are",
                                source_.name, own.color_matrix, first.color_matrix));
  return lines;
}

Status SecondInput::read_next() {
  auto read = input_.next();
  if (!read) return std::unexpected(read.error());
  if (!*read) {
    ended_ = true;
    return {};
  }
  begins_.push_back(time_->of(**read));
  held_.push_back(std::move(**read));
  return {};
}

Result<std::int64_t> SecondInput::beside(double time, double inaccuracy) {
  constexpr double rounding = 1e-6;
  const double latest = time + inaccuracy + time_->inaccuracy() + rounding;
  // Read one frame ahead: only then is the frame before known to be the last that has begun.
  while (!ended_ && (begins_.empty() || begins_.back() <= latest)) {
    if (Status read = read_next(); !read) return std::unexpected(read.error());
  }
  if (held_.empty()) return failure("'{}' has no frames", source_.name);
  const std::int64_t last = first_held_ + std::ssize(held_) - 1;
  while (shown_ < last && begins_[static_cast<std::size_t>(shown_ + 1 - first_held_)] <= latest)
    ++shown_;
  return shown_;
}

void SecondInput::forget_before(std::int64_t number) {
  for (const std::int64_t end = std::min(number, shown_); first_held_ < end; ++first_held_) {
    held_.pop_front();
    begins_.pop_front();
  }
}

std::string SecondInput::losses() const {
  const video::Losses losses = input_.losses();
  std::string text;
  if (losses.at_start > 0)
    text = fmt::format("{} at the start left out, which refer to others from before it",
                       counted(losses.at_start, "frame"));
  if (losses.damaged > 0)
    text += fmt::format("{}{} left out, or that refer to such ({})", text.empty() ? "" : "; ",
                        counted(losses.damaged, "damaged frame"), losses.first_damage);
  return text.empty() ? text : fmt::format("{}: {}", source_.name, text);
}

}  // namespace millrace::run
