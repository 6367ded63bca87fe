#include "millrace/intensity/estimate/footprint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;

constexpr double page_bytes = 4096;

struct Meetings {
  double distinct = 0;
  double once = 0;
  double twice = 0;
};

Meetings meetings(std::span<const std::uint64_t> addresses, std::uint64_t block) {
  std::unordered_map<std::uint64_t, int> times;
  for (const std::uint64_t address : addresses)
    ++times[address / block];
  Meetings found{.distinct = static_cast<double>(times.size())};
  for (const auto& [number, count] : times) {
    if (count == 1) ++found.once;
    if (count == 2) ++found.twice;
  }
  return found;
}

// True if blocks seen once do not greatly outnumber blocks seen twice. Otherwise most blocks were never seen,
// and the repeats come from a few that are used often.
bool tells(const Meetings& seen) {
  constexpr double once_for_each_twice = 2.5;
  return seen.once <= 1 || seen.once <= once_for_each_twice * seen.twice;
}

double bytes_of_all(std::span<const std::uint64_t> addresses) {
  if (addresses.empty()) return 0;
  // A cache line, a page, a common read-ahead size, a huge page.
  constexpr std::array<std::uint64_t, 4> blocks{64, 4096, 65536, 2U << 20};
  double estimate = 0;
  for (const std::uint64_t block : blocks) {
    const Meetings seen = meetings(addresses, block);
    const double unseen = seen.once * (seen.once - 1) / (2 * (seen.twice + 1));
    estimate = (seen.distinct + unseen) * static_cast<double>(block);
    if (tells(seen)) break;
  }
  return estimate;
}

using Pages = std::unordered_map<std::uint64_t, int>;

std::uint64_t page_of(std::uint64_t address) { return address / static_cast<std::uint64_t>(page_bytes); }

// The `most` most used pages.
std::vector<std::uint64_t> hottest(const Pages& pages, std::size_t most) {
  std::vector<std::pair<int, std::uint64_t>> ranked;
  for (const auto& [page, count] : pages)
    ranked.emplace_back(count, page);
  const std::size_t kept = std::min(most, ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(kept), std::greater<>());
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < kept; ++i)
    numbers.push_back(ranked[i].second);
  return numbers;
}

}  // namespace

double footprint_bytes(std::span<const std::uint64_t> addresses, double hot_bytes) {
  Pages pages;
  for (const std::uint64_t address : addresses)
    ++pages[page_of(address)];
  const auto hot_pages = hottest(pages, static_cast<std::size_t>(hot_bytes / page_bytes));
  const std::unordered_set<std::uint64_t> is_hot(hot_pages.begin(), hot_pages.end());
  std::vector<std::uint64_t> hot;
  std::vector<std::uint64_t> rest;
  for (const std::uint64_t address : addresses)
    (is_hot.contains(page_of(address)) ? hot : rest).push_back(address);
  return bytes_of_all(hot) + bytes_of_all(rest);
}

SharedUnit level_of(double footprint, const CacheSizes& caches) {
  if (footprint <= caches.l1) return SharedUnit::l1;
  if (footprint <= caches.l2) return SharedUnit::l2;
  return footprint <= caches.llc ? SharedUnit::llc : SharedUnit::dram;
}

double share_of_hot_pages(std::span<const std::uint64_t> addresses, double bytes) {
  if (addresses.size() < 2) return 0;
  std::array<Pages, 2> halves;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    ++halves[i % 2][page_of(addresses[i])];
  int on_hot = 0;
  for (std::size_t half = 0; half < halves.size(); ++half)
    for (const std::uint64_t page : hottest(halves[half], static_cast<std::size_t>(bytes / page_bytes)))
      if (const auto other = halves[1 - half].find(page); other != halves[1 - half].end())
        on_hot += other->second;
  return static_cast<double>(on_hot) / static_cast<double>(addresses.size());
}

}  // namespace millrace::intensity
