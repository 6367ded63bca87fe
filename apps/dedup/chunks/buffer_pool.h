// BufferPool: reuses large buffers, because fresh memory costs a page fault per 4 KiB.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace millrace::dedup {

// Buffers of one size, allocated if none is free. Up to `most_free_bytes` of free buffers, or one buffer, are
// kept. A buffer returns when its last owner releases it, even after the pool is destroyed. Thread-safe.
class BufferPool {
 public:
  // buffer_bytes >= 1.
  explicit BufferPool(std::size_t buffer_bytes,
                      std::size_t most_free_bytes = std::numeric_limits<std::size_t>::max())
      : bytes_(buffer_bytes),
        free_(std::make_shared<Free>(std::max<std::size_t>(1, most_free_bytes / buffer_bytes))) {}

  // The contents are those of an earlier use.
  [[nodiscard]] std::shared_ptr<std::byte[]> get() {
    std::unique_ptr<std::byte[]> buffer = free_->take();
    if (!buffer) buffer = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    return {buffer.release(),
            [home = free_](std::byte* returned) { home->put(std::unique_ptr<std::byte[]>(returned)); }};
  }
  [[nodiscard]] std::size_t buffer_bytes() const { return bytes_; }

 private:
  class Free {
   public:
    explicit Free(std::size_t most) : most_(most) {}
    std::unique_ptr<std::byte[]> take() {
      const std::lock_guard lock(mutex_);
      if (buffers_.empty()) return nullptr;
      auto buffer = std::move(buffers_.back());
      buffers_.pop_back();
      return buffer;
    }
    void put(std::unique_ptr<std::byte[]> buffer) {
      const std::lock_guard lock(mutex_);
      if (buffers_.size() < most_) buffers_.push_back(std::move(buffer));
    }

   private:
    const std::size_t most_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::byte[]>> buffers_;
  };

  std::size_t bytes_;
  std::shared_ptr<Free> free_;
};

}  // namespace millrace::dedup
