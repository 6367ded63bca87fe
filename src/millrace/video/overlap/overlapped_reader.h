// OverlappedReader: decodes ahead in its own thread while frames are processed.
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

// Reads up to `depth` frames ahead, plus one in progress. The destructor ends a wait for input and joins the
// thread. Call next() and came_ns() from one thread at a time, cancel() from any.
class OverlappedReader final : public FrameReader {
 public:
  explicit OverlappedReader(std::unique_ptr<FrameReader> reader, std::size_t depth = queue_depth);
  ~OverlappedReader() override;

  [[nodiscard]] const FrameFormat& format() const override { return reader_->format(); }
  [[nodiscard]] Result<std::optional<Frame>> next() override;
  // When the last frame returned by next() had been read, on the clock of now_ns().
  [[nodiscard]] std::int64_t came_ns() const { return queue_.came_ns(); }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return hint_; }
  // The estimate at the last frame read. Call it from any thread.
  [[nodiscard]] std::optional<std::int64_t> frames_expected() const override {
    // Relaxed: no other data depends on this number.
    const std::int64_t frames = expected_.load(std::memory_order_relaxed);
    return frames >= 0 ? std::optional(frames) : std::nullopt;
  }
  // Frames that next() returns without waiting.
  [[nodiscard]] std::size_t frames_there() const { return queue_.size(); }
  // No seek(): the thread has already read ahead.
  [[nodiscard]] SharedProperties properties() const override { return reader_->properties(); }
  // Both cover the frames read so far, which may be more than were delivered. Call them from any thread.
  [[nodiscard]] std::vector<std::string> unread() const override {
    const std::lock_guard lock(losses_mutex_);
    return unread_;
  }
  [[nodiscard]] Losses losses() const override {
    const std::lock_guard lock(losses_mutex_);
    return losses_;
  }
  // Frames already read are still delivered, then the interruption.
  void cancel() override { reader_->cancel(); }
  // Sets how many frames to read ahead from now on.
  void set_depth(std::size_t depth) { queue_.set_depth(depth); }

  // The thread that reads ahead.
  [[nodiscard]] std::thread::native_handle_type thread() { return thread_.native_handle(); }

 private:
  void read_ahead();
  [[nodiscard]] Status read_to_the_end();

  std::unique_ptr<FrameReader> reader_;
  std::optional<std::int64_t>
      hint_;  // taken before the thread starts, because containers update theirs during reading
  FrameQueue queue_;
  mutable std::mutex losses_mutex_;  // guards the next two
  Losses losses_;
  std::vector<std::string> unread_;
  std::atomic<std::int64_t> expected_;  // frames; -1: unknown
  std::thread thread_;
};

}  // namespace millrace::video
