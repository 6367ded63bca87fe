#include "dedup/chunks/chunk_cutter.h"

#include "dedup/chunks/gear_hash.h"

#include <algorithm>
#include <bit>

namespace millrace::dedup {
namespace {

// The highest `count` bits, which depend on the most bytes.
constexpr std::uint64_t high_bits(int count) { return ~std::uint64_t{0} << (64 - count); }

// How many bits more the strict mask has, and fewer the loose one, than the average requires.
constexpr int normalisation = 2;
constexpr std::size_t smallest_average = std::size_t{1} << 10;
// Every cut is a mark.
static_assert(std::bit_width(smallest_average) - 1 - normalisation >= mark_bits);

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
  constexpr std::size_t largest = std::size_t{256} << 10;
  if (!std::has_single_bit(average) || average < smallest_average || average > largest)
    return usage_error("chunks of {} bytes on average are not possible; give a power of two from {} to {}",
                       average, smallest_average, largest);
  return ChunkSizes{average / 2, average, 4 * average};
}

ChunkCutter::ChunkCutter(const ChunkSizes& sizes)
    : sizes_(sizes), strict_mask_(high_bits(std::bit_width(sizes.average) - 1 + normalisation)),
      loose_mask_(high_bits(std::bit_width(sizes.average) - 1 - normalisation)) {}

std::vector<std::size_t> ChunkCutter::ends(std::span<const Mark> marks, std::size_t size) const {
  std::vector<std::size_t> ends;
  ends.reserve(size / sizes_.average + 1);
  auto mark = marks.begin();
  // The first mark in (.., last] without a bit of `mask`; 0 if there is none. Advances `mark` to it, or past
  // `last`.
  const auto cut_until = [&](std::size_t last, std::uint64_t mask) -> std::size_t {
    for (; mark != marks.end() && mark->end <= last; ++mark)
      if ((mark->hash & mask) == 0) return mark->end;
    return 0;
  };
  for (std::size_t begin = 0; begin < size; begin = ends.back()) {
    if (size - begin <= sizes_.least) {
      ends.push_back(size);
      continue;
    }
    const std::size_t last = std::min(size, begin + sizes_.most);
    while (mark != marks.end() && mark->end <= begin + sizes_.least)
      ++mark;
    std::size_t cut = cut_until(std::min(last, begin + sizes_.average), strict_mask_);
    if (cut == 0) cut = cut_until(last, loose_mask_);
    ends.push_back(cut == 0 ? last : cut);
  }
  return ends;
}

std::size_t ChunkCutter::next_mark(std::span<const std::byte> data, std::size_t from) const {
  if (from >= data.size()) return data.size();
  const std::size_t cut = find_cut(data.data(), from, data.size(), strict_mask_);
  return cut != 0 ? cut : data.size();
}

}  // namespace millrace::dedup
