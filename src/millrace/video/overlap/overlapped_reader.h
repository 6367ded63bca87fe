// Decodes ahead, in a thread of its own, while frames are being processed.
#pragma once

#include "millrace/video/frame/frame_reader.h"
#include "millrace/video/overlap/frame_queue.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace millrace::video {

// A reader whose frames are read ahead, up to `depth` of them and one in the making. Destruction ends a wait
// for input and joins the thread. next() and came_ns() from one thread at a time; cancel() from any.
class OverlappedReader final : public FrameReader {
 public:
  explicit OverlappedReader(std::unique_ptr<FrameReader> reader, std::size_t depth = queue_depth);
  ~OverlappedReader() override;

  [[nodiscard]] const FrameFormat& format() const override { return reader_->format(); }
  [[nodiscard]] Result<std::optional<Frame>> next() override;
  // When the frame that next() gave last had been read, by now_ns().
  [[nodiscard]] std::int64_t came_ns() const { return queue_.came_ns(); }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return hint_; }
  // By the last frame that was read. From any thread.
  [[nodiscard]] std::optional<std::int64_t> frames_expected() const override {
    // A number that nothing else hangs on.
    const std::int64_t frames = expected_.load(std::memory_order_relaxed);
    return frames >= 0 ? std::optional(frames) : std::nullopt;
  }
  // Frames that next() gives at once.
  [[nodiscard]] std::size_t frames_there() const { return queue_.size(); }
  // Seeking is for readers that nobody reads ahead of.
  [[nodiscard]] SharedProperties properties() const override { return reader_->properties(); }
  // These two of what was read so far, which may be ahead of what was delivered. From any thread.
  [[nodiscard]] std::vector<std::string> unread() const override {
    const std::lock_guard lock(losses_mutex_);
    return unread_;
  }
  [[nodiscard]] Losses losses() const override {
    const std::lock_guard lock(losses_mutex_);
    return losses_;
  }
  // Frames that were read before are still delivered; then comes the interruption.
  void cancel() override { reader_->cancel(); }
  // How many frames are read ahead from now on.
  void set_depth(std::size_t depth) { queue_.set_depth(depth); }

  // The one that reads ahead.
  [[nodiscard]] std::thread::native_handle_type thread() { return thread_.native_handle(); }

 private:
  void read_ahead();
  [[nodiscard]] Status read_to_the_end();

  std::unique_ptr<FrameReader> reader_;
  std::optional<std::int64_t> hint_;  // from before the thread: containers change theirs while they are read
  FrameQueue queue_;
  mutable std::mutex losses_mutex_;  // over these two
  Losses losses_;
  std::vector<std::string> unread_;
  std::atomic<std::int64_t> expected_;  // frames; -1: not known
  std::thread thread_;
};

}  // namespace millrace::video
