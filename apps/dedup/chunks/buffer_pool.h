// BufferPool: large buffers that are used again, since fresh memory costs a page fault each 4 KiB.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace millrace::dedup {

// Buffers of one size, made when none is free; as many exist as were ever in use at once. Shared buffers
// return when their last owner lets go, which may be after the pool is gone. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::size_t buffer_bytes) : bytes_(buffer_bytes), free_(std::make_shared<Free>()) {}

  // Contents are those of an earlier use.
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
    std::unique_ptr<std::byte[]> take() {
      const std::lock_guard lock(mutex_);
      if (buffers_.empty()) return nullptr;
      auto buffer = std::move(buffers_.back());
      buffers_.pop_back();
      return buffer;
    }
    void put(std::unique_ptr<std::byte[]> buffer) {
      const std::lock_guard lock(mutex_);
      buffers_.push_back(std::move(buffer));
    }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::byte[]>> buffers_;
  };

  std::size_t bytes_;
  std::shared_ptr<Free> free_;
};

}  // namespace millrace::dedup
