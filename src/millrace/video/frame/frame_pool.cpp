#include "millrace/video/frame/frame_pool.h"

#include "millrace/base/process/large_memory.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
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
  if (waiting_.empty()) allocate(bytes);
  std::byte* memory = waiting_.back();  // the last one returned is most likely in a cache
  waiting_.pop_back();
  used_ = std::max(used_, buffers_ - waiting_.size());
  return memory;
}

void FrameFreeList::allocate(std::size_t bytes) {
  const auto [count, each] = blocks_together(bytes);
  waiting_.reserve(buffers_ + count);  // so that give_back() cannot fail
  slabs_.reserve(slabs_.size() + 1);
  std::byte* const memory = allocate_samples(count * each);
  slabs_.push_back({.memory = memory, .bytes = count * each, .left = count});
  for (std::size_t i = count; i > 0; --i)
    waiting_.push_back(memory + (i - 1) * each);
  buffers_ += count;
}

void FrameFreeList::give_back(std::byte* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  if (closed_)
    release(memory);
  else
    waiting_.push_back(memory);
}

void FrameFreeList::release(std::byte* memory) noexcept {
  const auto slab = std::ranges::find_if(slabs_, [&](const Slab& each) {
    return !std::less<>()(memory, each.memory) && std::less<>()(memory, each.memory + each.bytes);
  });
  if (--slab->left > 0) return;
  free_samples(slab->memory);
  slabs_.erase(slab);
}

void FrameFreeList::close() noexcept {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  for (std::byte* memory : waiting_)
    release(memory);
  waiting_.clear();
}

std::size_t FrameFreeList::buffers() const {
  const std::scoped_lock lock(mutex_);
  return used_;
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
