#include "dedup/chunks/fragmenter.h"

#include <algorithm>

namespace millrace::dedup {
namespace {

// Search range for a fragment's end beyond its minimum length, in average chunks. There is a suitable mark
// every four chunks on average, so one fragment in 50 ends without one.
constexpr std::size_t search_chunks = 16;

}  // namespace

Fragmenter::Fragmenter(ByteSource& source, const ChunkCutter& cutter, std::size_t fragment_bytes)
    : source_(&source), cutter_(&cutter), fragment_bytes_(fragment_bytes),
      buffers_(fragment_bytes + search_chunks * cutter.sizes().average) {}

Result<std::optional<Fragment>> Fragmenter::next() {
  std::shared_ptr<std::byte[]> memory = buffers_.get();
  const std::span<std::byte> room(memory.get(), buffers_.buffer_bytes());
  std::ranges::copy(rest_, room.begin());
  std::size_t filled = rest_.size();
  while (!ended_ && filled < room.size()) {
    const Result<std::size_t> count = source_->read(room.subspan(filled));
    if (!count) return std::unexpected(count.error());
    ended_ = *count == 0;
    filled += *count;
  }
  rest_ = {};
  rest_memory_.reset();
  if (filled == 0) return std::nullopt;

  const std::span<const std::byte> bytes = room.first(filled);
  const std::size_t length = filled <= fragment_bytes_ ? filled : cutter_->next_mark(bytes, fragment_bytes_);
  if (length < filled) {
    rest_ = bytes.subspan(length);
    rest_memory_ = memory;
  }
  hash_.add(bytes.first(length));
  stream_size_ += length;
  return Fragment{std::move(memory), bytes.first(length)};
}

}  // namespace millrace::dedup
