#include "dedup/chunks/chunk_cutter.h"

#include "dedup/chunks/gear_hash.h"

#include <algorithm>
#include <bit>

namespace millrace::dedup {
namespace {

// The highest `count` bits, which depend on the most bytes.
constexpr std::uint64_t high_bits(int count) { return ~std::uint64_t{0} << (64 - count); }

// How many bits the strict mask has more, and the loose one fewer, than the average asks for.
constexpr int normalisation = 2;

// The first end in (begin, end] at which the hash of the last 64 bytes has no bit of `mask`; 0 if there is
// none. begin >= 64.
std::size_t find_cut(const std::byte* data, std::size_t begin, std::size_t end, std::uint64_t mask) {
  GearHash hash;
  for (std::size_t i = begin - GearHash::window; i < begin; ++i)
    hash.roll(data[i]);
  for (std::size_t i = begin; i < end; ++i) {
    hash.roll(data[i]);
    if ((hash.value() & mask) == 0) return i + 1;
  }
  return 0;
}

}  // namespace

Result<ChunkSizes> ChunkSizes::around(std::size_t average) {
  constexpr std::size_t smallest = std::size_t{1} << 10;
  constexpr std::size_t largest = std::size_t{256} << 10;
  if (!std::has_single_bit(average) || average < smallest || average > largest)
    return usage_error("chunks of {} bytes on average are not possible; give a power of two from {} to {}",
                       average, smallest, largest);
  return ChunkSizes{average / 2, average, 4 * average};
}

ChunkCutter::ChunkCutter(const ChunkSizes& sizes)
    : sizes_(sizes), strict_mask_(high_bits(std::bit_width(sizes.average) - 1 + normalisation)),
      loose_mask_(high_bits(std::bit_width(sizes.average) - 1 - normalisation)) {}

std::size_t ChunkCutter::first_chunk(std::span<const std::byte> data) const {
  if (data.size() <= sizes_.least) return data.size();
  const std::size_t end = std::min(data.size(), sizes_.most);
  const std::size_t middle = std::min(end, sizes_.average);
  if (const std::size_t cut = find_cut(data.data(), sizes_.least, middle, strict_mask_); cut != 0) return cut;
  if (const std::size_t cut = find_cut(data.data(), middle, end, loose_mask_); cut != 0) return cut;
  return end;
}

std::size_t ChunkCutter::next_mark(std::span<const std::byte> data, std::size_t from) const {
  if (from >= data.size()) return data.size();
  const std::size_t cut = find_cut(data.data(), from, data.size(), strict_mask_);
  return cut != 0 ? cut : data.size();
}

}  // namespace millrace::dedup
