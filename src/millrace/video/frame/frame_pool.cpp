#include "millrace/video/frame/frame_pool.h"

#include "millrace/base/large_memory.h"

#include <cstdlib>
#include <new>

namespace millrace::video {

std::byte* allocate_samples(std::size_t bytes) {
  void* const memory = allocate_large(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

void free_samples(std::byte* memory) { std::free(memory); }

FrameFreeList::~FrameFreeList() { close(); }

std::byte* FrameFreeList::take(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (!waiting_.empty()) {
    std::byte* memory = waiting_.back();  // the last one returned is the likeliest to be in a cache
    waiting_.pop_back();
    return memory;
  }
  waiting_.reserve(buffers_ + 1);  // so that give_back() cannot fail
  std::byte* memory = allocate_samples(bytes);
  ++buffers_;
  return memory;
}

void FrameFreeList::give_back(std::byte* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  if (closed_)
    free_samples(memory);
  else
    waiting_.push_back(memory);
}

void FrameFreeList::close() noexcept {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  for (std::byte* memory : waiting_)
    free_samples(memory);
  waiting_.clear();
}

std::size_t FrameFreeList::buffers() const {
  const std::scoped_lock lock(mutex_);
  return buffers_;
}

FramePool::FramePool(const FrameFormat& format) : format_(format), list_(std::make_shared<FrameFreeList>()) {}

Result<Frame> FramePool::acquire() {
  try {
    return Frame(format_, Frame::Samples(list_->take(frame_bytes(format_)), Frame::Free{list_}));
  } catch (const std::bad_alloc&) {
    return failure("out of memory for a frame of {} ({} MiB); use a smaller video or fewer frames in flight",
                   to_string(format_), frame_bytes(format_) >> 20);
  }
}

}  // namespace millrace::video
