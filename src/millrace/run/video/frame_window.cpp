#include "millrace/run/video/frame_window.h"

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <utility>

namespace millrace::run {

void FrameWindow::read_as_far_as(std::int64_t number) {
  const std::int64_t start = now_ns();
  while (!ended_ && end() <= number) {
    auto read = input_.next();
    if (read && *read) {
      error_ = hold(std::move(**read));
      if (error_) continue;
    }
    ended_ = true;
    if (!read) error_ = std::unexpected(read.error());
  }
  waited_ns_ += now_ns() - start;
}

std::int64_t FrameWindow::end_of_those_there() const {
  // It is unknown whether the second video's frame can be read without waiting.
  return end() + (second_ != nullptr ? 0 : static_cast<std::int64_t>(input_.frames_there()));
}

Status FrameWindow::hold(video::Frame frame) {
  if (second_ != nullptr) {
    const auto number = second_->beside(shown_.of(frame), shown_.inaccuracy());
    if (!number) return std::unexpected(number.error());
    beside_.push_back(*number);
  }
  came_ns_.push_back(second_ != nullptr ? std::max(input_.came_ns(), second_->came_ns()) : input_.came_ns());
  held_.push_back(std::move(frame));
  return {};
}

void FrameWindow::forget_before(std::int64_t number) {
  for (; first_ < number && !held_.empty(); ++first_) {
    held_.pop_front();
    came_ns_.pop_front();
    if (second_ != nullptr) beside_.pop_front();
  }
  if (second_ == nullptr) return;
  if (beside_.empty())
    second_->forget_all();
  else
    second_->forget_before(beside_.front());
}

std::size_t FrameWindow::place(std::int64_t number) const {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(number - first_, 0, std::ssize(held_) - 1));
}

}  // namespace millrace::run
