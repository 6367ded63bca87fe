#include "millrace/video/overlap/overlapped_reader.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"

namespace millrace::video {

OverlappedReader::OverlappedReader(std::unique_ptr<FrameReader> reader, std::size_t depth)
    : reader_(std::move(reader)), hint_(reader_->frame_count_hint()), queue_(depth),
      unread_(reader_->unread()), expected_(reader_->frames_expected().value_or(-1)),
      thread_([this] { read_ahead(); }) {}

OverlappedReader::~OverlappedReader() {
  queue_.close();
  reader_->cancel();
  thread_.join();
}

Result<std::optional<Frame>> OverlappedReader::next() { return queue_.pop(); }

void OverlappedReader::read_ahead() {
  queue_.finish(without_exceptions([this] { return read_to_the_end(); }));
}

Status OverlappedReader::read_to_the_end() {
  for (;;) {
    Result<std::optional<Frame>> frame = reader_->next();
    {
      const std::lock_guard lock(losses_mutex_);
      losses_ = reader_->losses();
      unread_ = reader_->unread();
    }
    expected_.store(reader_->frames_expected().value_or(-1), std::memory_order_relaxed);
    if (!frame) return std::unexpected(std::move(frame.error()));
    if (!*frame || !queue_.push(**std::move(frame), now_ns())) return {};
  }
}

}  // namespace millrace::video
