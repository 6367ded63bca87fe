#include "millrace/intensity/estimate/thread_samples.h"

#include <algorithm>

namespace millrace::intensity {

using machine::Demand;
using machine::SharedUnit;

// Enough for an estimate, and few enough to evaluate often.
constexpr std::size_t most_addresses = 400;

// The share of time spent waiting for data. Without waits, samples hit loads as often as loads occur among
// the instructions.
double share_waiting(double at_load, double by_chance) {
  constexpr double nothing_else = 0.9;
  if (by_chance >= nothing_else) return at_load;
  return std::max(0.0, (at_load - by_chance) / (1 - by_chance));
}

void ThreadSamples::add(const std::optional<CodePlace>& place, std::optional<std::uint64_t> data_address) {
  ++seen_;
  if (!place) return;
  const Found found{.integer = static_cast<float>(place->integer),
                    .fp = static_cast<float>(place->fp),
                    .simd = static_cast<float>(place->simd),
                    .memory = static_cast<float>(place->memory),
                    .chance_at_load = static_cast<float>(place->chance_at_load),
                    .at_load = static_cast<float>(place->at_load),
                    .address = data_address.value_or(0)};
  if (found_.size() < most) {
    found_.push_back(found);
    return;
  }
  found_[next_] = found;
  next_ = (next_ + 1) % most;
}

void ThreadSamples::clear() { *this = ThreadSamples(); }

std::vector<std::uint64_t> ThreadSamples::addresses() const {
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < found_.size(); ++i)
    if (const auto address = found_[(next_ + i) % found_.size()].address; address != 0)
      addresses.push_back(address);
  if (addresses.size() > most_addresses)
    addresses.erase(addresses.begin(), addresses.end() - static_cast<std::ptrdiff_t>(most_addresses));
  return addresses;
}

ThreadSamples::Estimate ThreadSamples::estimate(const CacheSizes& caches) const {
  if (found_.size() < fewest) return {};
  Demand demand;
  double at_load = 0;
  double chance = 0;
  for (const Found& found : found_) {
    demand[SharedUnit::integer] += static_cast<double>(found.integer);
    demand[SharedUnit::fp] += static_cast<double>(found.fp);
    demand[SharedUnit::simd] += static_cast<double>(found.simd);
    demand[SharedUnit::l1] += static_cast<double>(found.memory);
    chance += static_cast<double>(found.chance_at_load);
    at_load += static_cast<double>(found.at_load);
  }
  const std::vector<std::uint64_t> data = addresses();
  const double footprint = footprint_bytes(data, caches.l1);
  const SharedUnit level = level_of(footprint, caches);
  // Pages that are used all the time stay in the L1, however far the other accesses reach.
  const double beyond_l1 = level == SharedUnit::l1 ? 0 : 1 - share_of_hot_pages(data, caches.l1);
  const auto samples = static_cast<double>(found_.size());
  const double waiting = share_waiting(at_load / samples, chance / samples) * beyond_l1;
  for (const SharedUnit unit : machine::all_shared_units)
    demand[unit] *= (1 - waiting) / samples;
  demand[level] += waiting;
  return {demand, footprint};
}

}  // namespace millrace::intensity
