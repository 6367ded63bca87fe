// Fragmenter: one thread divides a stream into coarse parts, which many threads then cut into chunks.
#pragma once

#include "dedup/chunks/buffer_pool.h"
#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/stream_hash.h"
#include "millrace/base/descriptor/byte_stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace millrace::dedup {

// A part of the stream in memory. Copies share the memory.
struct Fragment {
  std::shared_ptr<std::byte[]> memory;
  std::span<const std::byte> bytes;  // in `memory`; never empty
};

// Fragments have at least `fragment_bytes` bytes, except the last. They end at content-defined positions, so
// that chunk boundaries are the same as without fragments. Used by one thread at a time.
class Fragmenter {
 public:
  // `source` and `cutter` must outlive it.
  Fragmenter(ByteSource& source, const ChunkCutter& cutter, std::size_t fragment_bytes);

  // The next part of the stream; nullopt at its end.
  [[nodiscard]] Result<std::optional<Fragment>> next();

  // Maximum length of a fragment.
  [[nodiscard]] std::size_t most_bytes() const { return buffers_.buffer_bytes(); }
  // Bytes of all fragments so far, and their check.
  [[nodiscard]] std::uint64_t stream_size() const { return stream_size_; }
  [[nodiscard]] StreamCheck stream_check() const { return hash_.value(); }

 private:
  ByteSource* source_;
  const ChunkCutter* cutter_;
  std::size_t fragment_bytes_;
  BufferPool buffers_;
  // Bytes read beyond the end of the last fragment.
  std::shared_ptr<std::byte[]> rest_memory_;
  std::span<const std::byte> rest_;
  bool ended_ = false;
  std::uint64_t stream_size_ = 0;
  StreamHash hash_;
};

}  // namespace millrace::dedup
