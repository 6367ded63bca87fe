// Encodes behind, in a thread of its own, while the next frames are being processed. There is none for a
// writer that is immediate: to wake it would take longer than what it has to do.
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

// Takes frames faster than the writer it wraps, up to `depth` of them and one in the making. Its errors come
// one or more frames late, and finish() reports them at the latest. Destruction without finish() ends a wait
// for the output, drops what is queued and joins the thread. One thread at a time; cancel() and
// cancel_after() from any.
class OverlappedWriter {
 public:
  // written: told by whoever writes, before the next frame is taken, what write() was given with one that is
  // written.
  explicit OverlappedWriter(std::unique_ptr<FrameWriter> writer, std::size_t depth = queue_depth,
                            std::function<void(std::int64_t came_ns)> written = {});
  OverlappedWriter(const OverlappedWriter&) = delete;
  OverlappedWriter& operator=(const OverlappedWriter&) = delete;
  ~OverlappedWriter();

  // Waits while the queue is full. Fails with the error of an earlier frame.
  [[nodiscard]] Status write(Frame frame, std::int64_t came_ns = 0);

  // Waits until all frames are written, then finishes the writer, even after an error (see
  // FrameWriter::finish), but not where it ran out of memory. The first error is what it returns. The last
  // call to make.
  [[nodiscard]] Status finish();

  // Instead of finish(), where the output is not to be kept: what waits is dropped.
  void give_up();

  // Whether what was written, maybe not all, makes a valid output, which then is kept; after finish().
  [[nodiscard]] bool is_complete() const { return complete_; }

  // As FrameWriter's; after finish().
  [[nodiscard]] std::vector<std::string> not_kept() const { return writer_->not_kept(); }

  [[nodiscard]] WrittenAs written_as() const { return writer_->written_as(); }

  // Frames that were written without error. Exact after finish() and give_up(), a little behind before.
  [[nodiscard]] std::int64_t frames_written() const;

  void cancel() { writer_->cancel(); }
  void cancel_after(std::chrono::milliseconds patience) { writer_->cancel_after(patience); }
  // How many frames may wait from now on.
  void set_depth(std::size_t depth) { queue_.set_depth(depth); }

  // The one that encodes behind, where there is one; before finish().
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
  // The thread's where there is one; read only after it was joined.
  Status status_;
  bool thrown_ = false;  // in the midst of the writer's work, which then cannot be finished
  std::atomic<std::int64_t> frames_ = 0;
  std::thread thread_;
};

}  // namespace millrace::video
