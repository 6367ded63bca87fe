#include "millrace/video/overlap/overlapped_writer.h"

#include "millrace/base/error/without_exceptions.h"

#include <utility>

namespace millrace::video {

OverlappedWriter::OverlappedWriter(std::unique_ptr<FrameWriter> writer, std::size_t depth,
                                   std::function<void(std::int64_t)> written)
    : writer_(std::move(writer)), written_(std::move(written)), queue_(depth) {
  if (!writer_->is_immediate()) thread_ = std::thread([this] { write_behind(); });
}

OverlappedWriter::~OverlappedWriter() { give_up(); }

void OverlappedWriter::give_up() {
  if (!thread_.joinable()) return;
  queue_.close();
  writer_->cancel();
  thread_.join();
}

Status OverlappedWriter::write(Frame frame, std::int64_t came_ns) {
  if (writer_->is_immediate()) return status_ ? status_ = write_now(std::move(frame), came_ns) : status_;
  if (queue_.push(std::move(frame), came_ns)) return {};
  join();  // the thread closed the queue because it failed
  return status_;
}

Status OverlappedWriter::finish() {
  queue_.finish();
  join();
  if (thrown_) return status_;
  Status finished = writer_->finish();
  complete_ = finished.has_value();
  return status_ ? finished : status_;
}

// Relaxed, because the count is for display. After finish() and give_up(), the join orders everything.
std::int64_t OverlappedWriter::frames_written() const { return frames_.load(std::memory_order_relaxed); }

void OverlappedWriter::join() {
  if (thread_.joinable()) thread_.join();
}

void OverlappedWriter::write_behind() {
  thrown_ = true;
  status_ = without_exceptions([this] {
    Status written = write_to_the_end();
    thrown_ = false;
    return written;
  });
  if (!status_) queue_.close();
}

Status OverlappedWriter::write_to_the_end() {
  for (;;) {
    Result<std::optional<Frame>> frame = queue_.pop();
    if (!frame || !*frame) return {};
    if (Status written = write_now(std::move(**frame), queue_.came_ns()); !written) return written;
  }
}

Status OverlappedWriter::write_now(Frame frame, std::int64_t came_ns) {
  if (Status written = writer_->write_and_keep(std::move(frame)); !written) return written;
  frames_.fetch_add(1, std::memory_order_relaxed);
  if (written_) written_(came_ns);
  return {};
}

}  // namespace millrace::video
