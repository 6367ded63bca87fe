// ThreadSamples: evaluates the samples of one thread.
#pragma once

#include "millrace/intensity/decode/code_place.h"
#include "millrace/intensity/estimate/footprint.h"
#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::intensity {

// Keeps the last `most` samples, about ten seconds of CPU time. Older ones are dropped.
class ThreadSamples {
 public:
  static constexpr std::size_t most = 1024;
  // With fewer samples there is no estimate.
  static constexpr std::size_t fewest = 20;

  // Adds a sample: the thread's place in the code (empty: the code could not be read), and the address of its
  // data, if known.
  void add(const std::optional<CodePlace>& place, std::optional<std::uint64_t> data_address);
  // Call this if the thread runs another program.
  void clear();

  // Samples so far, including those without code.
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  struct Estimate {
    std::optional<machine::Demand> demand;  // empty if too little is known
    double footprint_bytes = 0;             // 0 if no data address is known
  };
  // Time spent waiting for data is attributed to the level that holds the footprint. The rest is attributed
  // to units by the instructions. Data in the L1 cause no waits and cost only their instructions. Takes about
  // 100 microseconds.
  [[nodiscard]] Estimate estimate(const CacheSizes& caches) const;
  // Data addresses, at most the latest 400; oldest first.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const;

 private:
  // Kept small, because there are many: shares of CodePlace, and the data address, 0 if not known.
  struct Found {
    float integer = 0;
    float fp = 0;
    float simd = 0;
    float memory = 0;
    float chance_at_load = 0;
    float at_load = 0;
    std::uint64_t address = 0;
  };
  std::vector<Found> found_;  // a ring, once it is full
  std::size_t next_ = 0;
  std::int64_t seen_ = 0;
};

}  // namespace millrace::intensity
