#include "dedup/chunks/history.h"

#include "dedup/chunks/gear_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace millrace::dedup {
namespace {

// Number of equal bytes from here on, at most `most`.
std::size_t equal_behind(const std::byte* a, const std::byte* b, std::size_t most) {
  std::size_t done = 0;
  while (most - done >= sizeof(std::uint64_t)) {
    std::uint64_t of_a = 0;
    std::uint64_t of_b = 0;
    std::memcpy(&of_a, a + done, sizeof of_a);
    std::memcpy(&of_b, b + done, sizeof of_b);
    if (of_a != of_b) break;
    done += sizeof of_a;
  }
  while (done < most && a[done] == b[done])
    ++done;
  return done;
}

// Number of equal bytes before this position.
std::size_t equal_before(const std::byte* a, const std::byte* b, std::size_t most) {
  std::size_t done = 0;
  while (done < most && *(a - done - 1) == *(b - done - 1))
    ++done;
  return done;
}

}  // namespace

// On average one mark per 256 bytes. There is room for twice as many, because buckets fill unevenly.
History::History(std::size_t window, std::size_t largest_fragment)
    : window_(window), largest_fragment_(largest_fragment),
      capacity_(window + largest_fragment + GearHash::window),
      ring_(window == 0 ? nullptr : std::make_unique_for_overwrite<std::byte[]>(capacity_)),
      buckets_(window == 0 ? 0 : std::bit_ceil(std::max<std::size_t>(2, window >> (mark_bits + 1)))) {}

void History::begin_fragment() {
  const std::uint64_t at = end_ % capacity_;
  if (at + largest_fragment_ < capacity_) return;
  gap_begin_ = end_;
  end_ += capacity_ - at;
  gap_end_ = end_;
}

std::uint64_t History::add(std::span<const std::byte> bytes) {
  const std::uint64_t begin = end_;
  if (ring_) std::ranges::copy(bytes, ring_.get() + begin % capacity_);
  end_ += bytes.size();
  return begin;
}

History::Match History::find(std::uint64_t at, std::uint64_t hash, std::size_t most_before,
                             std::size_t most_behind) const {
  constexpr std::uint64_t span_of_low_bits = std::uint64_t{1} << 32;
  const std::uint64_t oldest = end_ > window_ ? end_ - window_ : 0;
  const Key key = key_of(hash);
  Match best;
  for (const Entry& entry : buckets_[key.bucket].entries) {
    if (entry.check != key.check) continue;
    std::uint64_t there = (at & ~(span_of_low_bits - 1)) | entry.at;
    if (there >= at) {
      if (there < span_of_low_bits) continue;
      there -= span_of_low_bits;
    }
    if (there < oldest + GearHash::window || there >= at) continue;
    // Not beyond the kept bytes, not into the gap, and not into the queried bytes.
    const std::uint64_t first = there >= gap_end_ ? std::max(oldest, gap_end_) : oldest;
    const std::size_t before =
        equal_before(data_at(at), data_at(there), std::min<std::uint64_t>(most_before, there - first));
    if (at - there <= before) continue;
    const std::uint64_t last = there < gap_end_ ? gap_begin_ : at - before;
    const std::size_t behind =
        equal_behind(data_at(at), data_at(there),
                     std::min<std::uint64_t>(most_behind, std::min(last, at - before) - there));
    if (before + behind > best.length())
      best = {there - before, static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(behind)};
  }
  return best;
}

void History::remember(std::uint64_t at, std::uint64_t hash) {
  const Key key = key_of(hash);
  auto& entries = buckets_[key.bucket].entries;
  std::ranges::copy_backward(entries.begin(), entries.end() - 1, entries.end());
  entries.front() = {key.check, static_cast<std::uint32_t>(at)};
}

void History::expect(std::uint64_t hash) const { __builtin_prefetch(&buckets_[key_of(hash).bucket]); }

void History::expect_soon(std::uint64_t hash) const {
  const Key key = key_of(hash);
  for (const Entry& entry : buckets_[key.bucket].entries) {
    if (entry.check != key.check) continue;
    // Guesses the position from its low bits, near the end. find() detects a wrong guess.
    const std::uint64_t back = static_cast<std::uint32_t>(static_cast<std::uint32_t>(end_) - entry.at);
    if (back <= end_) __builtin_prefetch(data_at(end_ - back));
    return;
  }
}

// The highest bits of a mark's hash are zero and the lowest depend on few bytes, so mix them first.
History::Key History::key_of(std::uint64_t hash) const {
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  return {static_cast<std::size_t>(hash >> 32) & (buckets_.size() - 1), static_cast<std::uint32_t>(hash)};
}

}  // namespace millrace::dedup
