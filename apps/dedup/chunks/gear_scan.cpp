#include "dedup/chunks/gear_scan.h"

#include "dedup/chunks/gear_hash.h"

#include <array>
#include <utility>

namespace millrace::dedup {
namespace {

constexpr std::size_t lanes = 4;
constexpr std::uint64_t mark_mask = ~std::uint64_t{0} << (64 - mark_bits);

bool is_mark(const GearHash& hash) { return (hash.value() & mark_mask) == 0; }

// Collects the marks of a part of the data.
class Marks {
 public:
  // `last`: the last mark before the part, whether it was left out or not.
  explicit Marks(std::size_t last) : last_(last) {}
  void add(std::size_t end, const GearHash& hash) {
    if (end - std::exchange(last_, end) >= least_between_marks)
      marks_.push_back({static_cast<std::uint32_t>(end), hash.value()});
  }
  [[nodiscard]] const std::vector<Mark>& all() const { return marks_; }

 private:
  std::size_t last_;
  std::vector<Mark> marks_;
};

struct Start {
  GearHash hash;         // of the 64 bytes before a part
  std::size_t last = 0;  // the last mark there, if close enough to suppress others
};
// begin >= 64.
Start start_at(std::span<const std::byte> data, std::size_t begin) {
  constexpr std::size_t window = GearHash::window;
  const std::size_t first = begin - window < least_between_marks ? window : begin - least_between_marks;
  Start start;
  for (std::size_t i = first - window; i < first; ++i)
    start.hash.roll(data[i]);
  if (is_mark(start.hash)) start.last = first;
  for (std::size_t end = first + 1; end <= begin; ++end) {
    start.hash.roll(data[end - 1]);
    if (is_mark(start.hash)) start.last = end;
  }
  return start;
}

// Advances all lanes from `at` to just behind the first byte where a lane has a mark, or to `behind`. `part`:
// distance between lanes. Not inlined, so that its state stays in registers.
[[gnu::noinline]] const std::byte* roll_to_mark(const std::byte* at, const std::byte* behind,
                                                std::size_t part, std::array<GearHash, lanes>& hashes) {
  auto [a, b, c, d] = hashes;
  const std::size_t third = 3 * part;
  while (at != behind) {
    a.roll(at[0]);
    b.roll(at[part]);
    c.roll(at[2 * part]);
    d.roll(at[third]);
    ++at;
    if (is_mark(a)) break;
    if (is_mark(b)) break;
    if (is_mark(c)) break;
    if (is_mark(d)) break;
  }
  hashes = {a, b, c, d};
  return at;
}

}  // namespace

// Each step of a rolling hash depends on the previous one. Several independent lanes hide that latency.
std::vector<Mark> gear_marks(std::span<const std::byte> data) {
  constexpr std::size_t window = GearHash::window;
  if (data.size() < window) return {};
  const std::size_t part = (data.size() - window) / lanes;
  std::array<Start, lanes> starts;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    starts[lane] = start_at(data, window + lane * part);
  std::array<Marks, lanes> marks{Marks(0), Marks(starts[1].last), Marks(starts[2].last),
                                 Marks(starts[3].last)};
  std::array<GearHash, lanes> hashes{starts[0].hash, starts[1].hash, starts[2].hash, starts[3].hash};
  if (is_mark(hashes[0])) marks[0].add(window, hashes[0]);
  const std::byte* const first = data.data() + window;
  for (const std::byte* at = first; at != first + part;) {
    at = roll_to_mark(at, first + part, part, hashes);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (is_mark(hashes[lane]))
        marks[lane].add(window + static_cast<std::size_t>(at - first) + lane * part, hashes[lane]);
  }
  GearHash& last = hashes.back();
  for (std::size_t end = window + lanes * part + 1; end <= data.size(); ++end) {
    last.roll(data[end - 1]);
    if (is_mark(last)) marks.back().add(end, last);
  }
  std::vector<Mark> all;
  all.reserve(marks[0].all().size() * lanes);
  for (const Marks& of_lane : marks)
    all.insert(all.end(), of_lane.all().begin(), of_lane.all().end());
  return all;
}

}  // namespace millrace::dedup
