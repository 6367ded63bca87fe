// OverlappedWriter: encodes in its own thread while the next frames are processed. An immediate writer gets
// no thread, because waking it would take longer than its work.
#pragma once

#include "millrace/video/frame/frame_writer.h"
#include "millrace/video/overlap/frame_queue.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace millrace::video {

// Queues up to `depth` frames, plus one in progress, for the writer it wraps. Errors are reported one or more
// frames late, at the latest by finish(). Destruction without finish() ends a wait for the output, drops
// queued frames and joins the thread. Use it from one thread at a time; call cancel() and cancel_after() from
// any.
class OverlappedWriter {
 public:
  // written: called by the writing thread after each frame, before it takes the next, with the came_ns that
  // was passed to write().
  explicit OverlappedWriter(std::unique_ptr<FrameWriter> writer, std::size_t depth = queue_depth,
                            std::function<void(std::int64_t came_ns)> written = {});
  OverlappedWriter(const OverlappedWriter&) = delete;
  OverlappedWriter& operator=(const OverlappedWriter&) = delete;
  ~OverlappedWriter();

  // Waits while the queue is full. Fails with the error of an earlier frame.
  [[nodiscard]] Status write(Frame frame, std::int64_t came_ns = 0);

  // Waits until all frames are written, then finishes the writer, even after an error (see
  // FrameWriter::finish) unless it ran out of memory. Returns the first error. Must be the last call.
  [[nodiscard]] Status finish();

  // Call it instead of finish() to discard the output. Drops queued frames.
  void give_up();

  // Whether the frames written, perhaps not all, form a valid output, which is then kept. Valid after
  // finish().
  [[nodiscard]] bool is_complete() const { return complete_; }

  // See FrameWriter; valid after finish().
  [[nodiscard]] std::vector<std::string> not_kept() const { return writer_->not_kept(); }

  [[nodiscard]] WrittenAs written_as() const { return writer_->written_as(); }

  // Frames written without error. Exact after finish() and give_up(), slightly behind before.
  [[nodiscard]] std::int64_t frames_written() const;

  void cancel() { writer_->cancel(); }
  void cancel_after(std::chrono::milliseconds patience) { writer_->cancel_after(patience); }
  // Sets how many frames may wait from now on.
  void set_depth(std::size_t depth) { queue_.set_depth(depth); }

  // The encoding thread, if any. Call these before finish().
  [[nodiscard]] bool has_thread() const { return thread_.joinable(); }
  [[nodiscard]] std::thread::native_handle_type thread() { return thread_.native_handle(); }

 private:
  void write_behind();
  [[nodiscard]] Status write_to_the_end();
  [[nodiscard]] Status write_now(Frame frame, std::int64_t came_ns);
  void join();

  std::unique_ptr<FrameWriter> writer_;
  std::function<void(std::int64_t)> written_;
  FrameQueue queue_;
  bool complete_ = false;
  // Owned by the thread, if there is one; read only after joining it.
  Status status_;
  bool thrown_ = false;  // by the writer in the middle of its work, so that it cannot be finished
  std::atomic<std::int64_t> frames_ = 0;
  std::thread thread_;
};

}  // namespace millrace::video
