// Which parts of an intermediate frame have been computed, where several workers compute them on demand.
#pragma once

#include "millrace/image/filter/geometry.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::image {

// Each granule is computed once in a frame: by the worker that claims it. The others compute what is not
// claimed and wait for the rest.
//
//   if (auto claim = map.claim(index)) {
//     ... compute the granule ...
//     claim->computed();
//   }
//   map.valid(index)  // whether its pixels may be read
//
// Both might as well compute it, as they would write the same bytes, were it not that kernels write to their
// output what is not yet its last value, and that the language calls it a race.
//
// Waiting ends as long as whoever has a claim goes on: it waits only for granules of stages before its own,
// and has one claim of each stage at a time.
class GranuleMap {
 public:
  // The right and duty to compute a granule. One that is dropped before computed() leaves it to others.
  class Claim {
   public:
    Claim(Claim&& other) noexcept;
    Claim& operator=(Claim&&) = delete;
    ~Claim();

    // Whoever sees the granule valid from now on sees its pixels.
    void computed();

   private:
    friend class GranuleMap;
    Claim(GranuleMap& map, int index) : map_(&map), index_(index) {}

    GranuleMap* map_;
    int index_;
  };

  // Of a plane in granules of that size; a side of 0 stands for the whole plane.
  GranuleMap(Size plane, Size granule);

  // No granule is valid any more. Between frames only, while nobody else looks.
  void clear();

  [[nodiscard]] bool valid(int index) const;
  // Nothing where it has been claimed already.
  [[nodiscard]] std::optional<Claim> claim(int index);
  // Waits until the granule is valid, or can be claimed since the worker that had claimed it failed. Asleep,
  // but for the first microseconds.
  [[nodiscard]] std::optional<Claim> await(int index);

  // Granules that a rectangle touches, as columns and rows.
  [[nodiscard]] Rect touched(const Rect& rect) const;
  [[nodiscard]] int index(int column, int row) const { return row * columns_ + column; }
  [[nodiscard]] Rect granule(int column, int row) const;
  [[nodiscard]] std::size_t bytes() const { return 2 * valid_.size() * sizeof(std::uint64_t); }

 private:
  using Words = std::vector<std::atomic<std::uint64_t>>;  // a bit for each granule

  // Those who sleep until any granule is computed or left to others.
  struct Sleep {
    std::atomic<std::uint32_t> ends{0};  // counted where somebody sleeps
    std::atomic<int> sleepers{0};
  };

  void wake();

  Size plane_;
  Size granule_;
  int columns_;
  Words claimed_;
  Words valid_;
  std::unique_ptr<Sleep> sleep_ = std::make_unique<Sleep>();
};

}  // namespace millrace::image
