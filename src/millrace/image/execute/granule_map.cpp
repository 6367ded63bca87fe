#include "millrace/image/execute/granule_map.h"

#include "millrace/pool/spin.h"

#include <thread>
#include <utility>

namespace millrace::image {
namespace {

constexpr int bits_of_word = 64;

int parts(int length, int part) { return (length + part - 1) / part; }

Size effective(Size granule, Size plane) {
  return {granule.width > 0 ? granule.width : plane.width,
          granule.height > 0 ? granule.height : plane.height};
}

std::size_t word_of(int index) { return static_cast<std::size_t>(index) / bits_of_word; }

std::uint64_t bit_of(int index) { return std::uint64_t{1} << (index % bits_of_word); }

}  // namespace

GranuleMap::Claim::Claim(Claim&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)), index_(other.index_) {}

// Pixels that were written before a failure come before those of the worker that claims the granule next:
// release here, acquire in claim().
GranuleMap::Claim::~Claim() {
  if (map_ != nullptr) map_->claimed_[word_of(index_)].fetch_and(~bit_of(index_), std::memory_order_release);
}

void GranuleMap::Claim::computed() {
  std::exchange(map_, nullptr)->valid_[word_of(index_)].fetch_or(bit_of(index_), std::memory_order_release);
}

GranuleMap::GranuleMap(Size plane, Size granule)
    : plane_(plane), granule_(effective(granule, plane)), columns_(parts(plane.width, granule_.width)),
      claimed_(parts(columns_ * parts(plane.height, granule_.height), bits_of_word)),
      valid_(claimed_.size()) {}

void GranuleMap::clear() {
  // Nobody else looks between frames; the fork that starts the next frame publishes this.
  for (Words* words : {&claimed_, &valid_}) {
    for (auto& word : *words)
      word.store(0, std::memory_order_relaxed);
  }
}

bool GranuleMap::valid(int index) const {
  return (valid_[word_of(index)].load(std::memory_order_acquire) & bit_of(index)) != 0;
}

std::optional<GranuleMap::Claim> GranuleMap::claim(int index) {
  const std::uint64_t before = claimed_[word_of(index)].fetch_or(bit_of(index), std::memory_order_acquire);
  if ((before & bit_of(index)) != 0) return std::nullopt;
  return Claim(*this, index);
}

std::optional<GranuleMap::Claim> GranuleMap::await(int index) {
  constexpr std::int64_t awake_ns = 50'000;  // most granules take less
  while (!pool::spin_until([&] { return valid(index); }, awake_ns)) {
    if (std::optional<Claim> claimed = claim(index)) return claimed;
    // The worker that computes it may be waiting for this CPU.
    std::this_thread::yield();
  }
  return std::nullopt;
}

Rect GranuleMap::touched(const Rect& rect) const {
  return {rect.x0 / granule_.width, rect.y0 / granule_.height, parts(rect.x1, granule_.width),
          parts(rect.y1, granule_.height)};
}

Rect GranuleMap::granule(int column, int row) const {
  const Rect rect{column * granule_.width, row * granule_.height, (column + 1) * granule_.width,
                  (row + 1) * granule_.height};
  return intersection(rect, whole(plane_));
}

}  // namespace millrace::image
