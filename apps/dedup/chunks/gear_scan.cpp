#include "dedup/chunks/gear_scan.h"

#include "dedup/chunks/gear_hash.h"

#include <array>
#include <utility>

namespace millrace::dedup {
namespace {

constexpr std::uint64_t mark_mask = ~std::uint64_t{0} << (64 - mark_bits);

// Goes along a part of the data and collects its marks.
class Lane {
 public:
  // Finds marks that end behind `begin`, at least a window from the beginning of the data.
  Lane(std::span<const std::byte> data, std::size_t begin) : data_(data.data()) {
    // Marks before `begin` are looked for as far as they keep others away.
    const std::size_t first =
        begin - GearHash::window < least_between_marks ? GearHash::window : begin - least_between_marks;
    for (std::size_t i = first - GearHash::window; i < first; ++i)
      hash_.roll(data[i]);
    if (is_mark()) last_ = first;
    for (std::size_t end = first + 1; end <= begin; ++end) {
      hash_.roll(data[end - 1]);
      if (is_mark()) last_ = end;
    }
  }
  void look_at(std::size_t end) {
    hash_.roll(data_[end - 1]);
    if (is_mark()) note(end);
  }
  // Where a lane begins, its first window is nobody else's.
  void look_at_first_window() {
    last_ = 0;
    if (is_mark()) note(GearHash::window);
  }
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }

 private:
  [[nodiscard]] bool is_mark() const { return (hash_.value() & mark_mask) == 0; }
  void note(std::size_t end) {
    if (end - std::exchange(last_, end) >= least_between_marks)
      marks_.push_back({static_cast<std::uint32_t>(end), hash_.value()});
  }

  const std::byte* data_;
  GearHash hash_;
  std::size_t last_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace

// A rolling hash waits for itself; several that know nothing of each other don't.
std::vector<Mark> gear_marks(std::span<const std::byte> data) {
  constexpr std::size_t window = GearHash::window;
  if (data.size() < window) return {};
  const std::size_t part = (data.size() - window) / 4;
  std::array<Lane, 4> lanes{Lane(data, window), Lane(data, window + part), Lane(data, window + 2 * part),
                            Lane(data, window + 3 * part)};
  lanes[0].look_at_first_window();
  for (std::size_t end = window + 1; end <= window + part; ++end) {
    lanes[0].look_at(end);
    lanes[1].look_at(end + part);
    lanes[2].look_at(end + 2 * part);
    lanes[3].look_at(end + 3 * part);
  }
  for (std::size_t end = window + 4 * part + 1; end <= data.size(); ++end)
    lanes[3].look_at(end);
  std::vector<Mark> marks;
  marks.reserve(lanes[0].marks().size() * lanes.size());
  for (const Lane& lane : lanes)
    marks.insert(marks.end(), lane.marks().begin(), lane.marks().end());
  return marks;
}

}  // namespace millrace::dedup
