// Tracks which parts of an intermediate frame have been computed, when several workers compute them on
// demand.
#pragma once

#include "millrace/image/filter/geometry.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::image {

// Each granule is computed once per frame, by the worker that claims it. Other workers compute unclaimed
// granules and then wait for the rest.
//
//   if (auto claim = map.claim(index)) {
//     ... compute the granule ...
//     claim->computed();
//   }
//   map.valid(index)  // whether its pixels may be read
//
// Computing a granule twice would write the same bytes, but kernels write preliminary values to their output,
// and C++ calls it a race.
//
// Waiting cannot deadlock: the owner of a claim waits only for granules of earlier stages, and has one claim
// per stage at a time.
class GranuleMap {
 public:
  // The right and duty to compute a granule. Dropping a claim before computed() lets other workers claim the
  // granule.
  class Claim {
   public:
    Claim(Claim&& other) noexcept;
    Claim& operator=(Claim&&) = delete;
    ~Claim();

    // Publishes the pixels: a thread that sees the granule valid also sees its pixels.
    void computed();

   private:
    friend class GranuleMap;
    Claim(GranuleMap& map, int index) : map_(&map), index_(index) {}

    GranuleMap* map_;
    int index_;
  };

  // For a plane with granules of this size; a side of 0 stands for the whole plane.
  GranuleMap(Size plane, Size granule);

  // Invalidates all granules. Call only between frames, when no other thread uses the map.
  void clear();

  [[nodiscard]] bool valid(int index) const;
  // Returns nothing if it is already claimed.
  [[nodiscard]] std::optional<Claim> claim(int index);
  // Waits until the granule is valid. Returns a claim if the worker that had claimed it failed. Spins for
  // some microseconds, then sleeps.
  [[nodiscard]] std::optional<Claim> await(int index);

  // Granules that a rectangle touches, as columns and rows.
  [[nodiscard]] Rect touched(const Rect& rect) const;
  [[nodiscard]] int index(int column, int row) const { return row * columns_ + column; }
  [[nodiscard]] Rect granule(int column, int row) const;
  [[nodiscard]] std::size_t bytes() const { return 2 * valid_.size() * sizeof(std::uint64_t); }

 private:
  using Words = std::vector<std::atomic<std::uint64_t>>;  // one bit per granule

  // For threads that sleep until any granule is computed or dropped.
  struct Sleep {
    std::atomic<std::uint32_t> ends{0};  // incremented only if a thread sleeps
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
