// Test streams to pack, and byte sources and sinks in memory.
#pragma once

#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/gear_hash.h"
#include "millrace/base/descriptor/byte_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::dedup {

using Bytes = std::vector<std::byte>;

// Delivers its bytes in pieces of random length, like a pipe.
class PiecewiseSource final : public ByteSource {
 public:
  explicit PiecewiseSource(std::span<const std::byte> bytes, std::size_t largest_piece = std::size_t{1} << 30)
      : bytes_(bytes), largest_piece_(largest_piece) {}
  Result<std::size_t> read(std::span<std::byte> destination) override {
    const std::size_t piece = std::min({destination.size(), bytes_.size(), 1 + random_() % largest_piece_});
    std::ranges::copy(bytes_.first(piece), destination.begin());
    bytes_ = bytes_.subspan(piece);
    return piece;
  }
  const std::string& name() const override { return name_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t largest_piece_;
  std::minstd_rand random_{1};
  std::string name_ = "memory";
};

class MemoryFile final : public ByteSink, public RandomBytes {
 public:
  MemoryFile() = default;
  explicit MemoryFile(std::span<const std::byte> held) : bytes(held.begin(), held.end()) {}
  Status write(std::span<const std::byte> more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  Status read_at(std::uint64_t offset, std::span<std::byte> destination) override {
    if (offset > bytes.size() || destination.size() > bytes.size() - offset) return failure("nothing there");
    std::ranges::copy(std::span(bytes).subspan(offset, destination.size()), destination.begin());
    return {};
  }
  Bytes bytes;
};

inline Bytes random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t drawn = random();
    std::memcpy(&bytes[at], &drawn, std::min(sizeof drawn, size - at));
  }
  return bytes;
}

// Compressible lines of words.
inline Bytes text_bytes(std::size_t size, std::uint32_t seed) {
  constexpr std::array<std::string_view, 8> words{"mill",  "race",  "water", "wheel",
                                                  "stone", "grain", "\n",    "flour "};
  std::mt19937 random(seed);
  Bytes bytes;
  while (bytes.size() < size) {
    const auto word = std::as_bytes(std::span(words[random() % words.size()]));
    bytes.insert(bytes.end(), word.begin(), word.end());
  }
  bytes.resize(size);
  return bytes;
}

inline Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Repeats a block of 64 bytes that always causes a cut at this chunk size, so that there is a mark every 64
// bytes.
inline Bytes always_a_boundary(std::size_t size, const ChunkSizes& sizes) {
  const ChunkCutter cutter(sizes);
  for (std::uint32_t seed = 0;; ++seed) {
    const Bytes block = random_bytes(GearHash::window, seed);
    const Bytes two = joined({block, block});
    if (cutter.next_mark(two, GearHash::window) != two.size()) continue;
    Bytes three = joined({block, block, block});
    if (cutter.next_mark(three, 2 * GearHash::window - 1) != 2 * GearHash::window) continue;
    Bytes all(size);
    for (std::size_t i = 0; i < size; ++i)
      all[i] = block[i % block.size()];
    return all;
  }
}

struct NamedStream {
  std::string name;
  Bytes bytes;
};

inline ChunkSizes small_chunks() { return *ChunkSizes::around(1024); }

// Typical and extreme inputs of a packer. `scale`: bytes of the large ones.
inline std::vector<NamedStream> streams(std::size_t scale) {
  const Bytes part = random_bytes(scale / 4, 1);
  Bytes shifted = joined({random_bytes(7, 2), part});
  return {{"empty", {}},
          {"one byte", random_bytes(1, 3)},
          {"shorter than a window", text_bytes(60, 4)},
          {"shorter than a chunk", text_bytes(500, 5)},
          {"random", random_bytes(scale, 6)},
          {"text", text_bytes(scale, 7)},
          {"no boundary", Bytes(scale, std::byte{0})},
          {"always a boundary", always_a_boundary(scale, small_chunks())},
          {"twice, shifted", joined({part, shifted, part})},
          {"random and text in turns", joined({part, text_bytes(scale / 4, 8), part, text_bytes(scale / 4, 8),
                                               random_bytes(scale / 4, 9)})}};
}

}  // namespace millrace::dedup
