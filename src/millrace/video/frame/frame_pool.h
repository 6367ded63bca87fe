// A pool of frames that reuses their memory. A video of any length needs only the memory of the frames in
// flight. The pool avoids returning memory to the system and faulting it in again.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame.h"

#include <memory>
#include <mutex>
#include <vector>

namespace millrace::video {

// Memory for samples, aligned to 64 bytes, uninitialised. Throws std::bad_alloc.
[[nodiscard]] std::byte* allocate_samples(std::size_t bytes);
void free_samples(std::byte* memory);

// The freed buffers of a pool. Outlives the pool as long as one of its frames lives. Thread-safe.
class FrameFreeList {
 public:
  FrameFreeList() = default;
  FrameFreeList(const FrameFreeList&) = delete;
  FrameFreeList& operator=(const FrameFreeList&) = delete;
  ~FrameFreeList();

  // Throws std::bad_alloc. All calls must ask for the same size. Small buffers are allocated several at a
  // time; see blocks_together().
  [[nodiscard]] std::byte* take(std::size_t bytes);
  void give_back(std::byte* memory) noexcept;
  // Stops reuse. Free buffers, and those given back later, go to the system. Buffers that were allocated
  // together are freed with the last of them.
  void close() noexcept;
  [[nodiscard]] std::size_t buffers() const;  // peak number in use at once

 private:
  // One allocation that holds several buffers.
  struct Slab {
    std::byte* memory;
    std::size_t bytes;
    std::size_t left;  // buffers not yet released
  };

  // Call these with the mutex held.
  void allocate(std::size_t bytes);
  void release(std::byte* memory) noexcept;

  mutable std::mutex mutex_;
  std::vector<std::byte*> waiting_;
  std::vector<Slab> slabs_;
  std::size_t buffers_ = 0;  // made so far
  std::size_t used_ = 0;     // buffers handed out at least once
  bool closed_ = false;
};

// Makes frames of one format. Destroying a frame returns its memory, from any thread and even after the pool
// is gone. The pool never holds more memory than the peak in use. Thread-safe.
class FramePool {
 public:
  explicit FramePool(const FrameFormat& format);
  ~FramePool() { list_->close(); }
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // Returns a frame with unspecified samples and index 0. Fails if memory runs out.
  [[nodiscard]] Result<Frame> acquire();

  [[nodiscard]] const FrameFormat& format() const { return format_; }
  [[nodiscard]] std::size_t buffers() const { return list_->buffers(); }  // peak number in use at once

 private:
  FrameFormat format_;
  std::shared_ptr<FrameFreeList> list_;
};

}  // namespace millrace::video
