// Frames whose memory is used again. A video of any length is processed in the memory of the few frames that
// are in flight at once, and none of them is handed back to the system and faulted in anew for the next.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <memory>
#include <mutex>
#include <vector>

namespace millrace::video {

// Memory for samples, aligned to 64 bytes, uninitialised. Throws std::bad_alloc.
[[nodiscard]] std::byte* allocate_samples(std::size_t bytes);
void free_samples(std::byte* memory);

// Where the memory of a pool's destroyed frames waits; outlives the pool as long as a frame of it lives.
// Thread-safe.
class FrameFreeList {
 public:
  FrameFreeList() = default;
  FrameFreeList(const FrameFreeList&) = delete;
  FrameFreeList& operator=(const FrameFreeList&) = delete;
  ~FrameFreeList();

  // Throws std::bad_alloc. Always of the same size. What is small comes several at once: see
  // blocks_together().
  [[nodiscard]] std::byte* take(std::size_t bytes);
  void give_back(std::byte* memory) noexcept;
  // Nobody will take any more: what waits, and what is given back from now on, goes to the system; of what
  // came at once when the last of it is given back.
  void close() noexcept;
  [[nodiscard]] std::size_t buffers() const;  // that were in use at once, at most

 private:
  // Of several buffers.
  struct Slab {
    std::byte* memory;
    std::size_t bytes;
    std::size_t left;  // that were not released
  };

  // With the mutex held:
  void allocate(std::size_t bytes);
  void release(std::byte* memory) noexcept;

  mutable std::mutex mutex_;
  std::vector<std::byte*> waiting_;
  std::vector<Slab> slabs_;
  std::size_t buffers_ = 0;  // made so far
  std::size_t used_ = 0;     // that anybody has had
  bool closed_ = false;
};

// Makes frames of one format. A frame returns its memory by being destroyed, in any thread, even after the
// pool itself is gone. The pool never holds more memory than was in use at once. Thread-safe.
class FramePool {
 public:
  explicit FramePool(const FrameFormat& format);
  ~FramePool() { list_->close(); }
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // A frame with unspecified samples, index 0. Fails when memory is out.
  [[nodiscard]] Result<Frame> acquire();

  [[nodiscard]] const FrameFormat& format() const { return format_; }
  [[nodiscard]] std::size_t buffers() const { return list_->buffers(); }  // that were in use at once, at most

 private:
  FrameFormat format_;
  std::shared_ptr<FrameFreeList> list_;
};

}  // namespace millrace::video
