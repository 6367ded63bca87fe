// ThreadSamples: what samples of one thread say of it.
#pragma once

#include "millrace/intensity/decode/code_place.h"
#include "millrace/intensity/estimate/footprint.h"
#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::intensity {

// Of the last so many samples: some ten seconds of CPU time. What a thread did before that counts no more.
class ThreadSamples {
 public:
  static constexpr std::size_t most = 1024;
  // With fewer, nothing is said.
  static constexpr std::size_t fewest = 20;

  // One more: the place in the code where the thread was (nothing: no code could be read there), and the data
  // that it was at, where that is known.
  void add(const std::optional<CodePlace>& place, std::optional<std::uint64_t> data_address);
  // The thread runs another program.
  void clear();

  // Samples so far, those without code too.
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  struct Estimate {
    std::optional<machine::Demand> demand;  // nothing where too little is known
    double footprint_bytes = 0;             // 0 where no address of data is known
  };
  // The part of the time that waits for data goes to the level that holds the footprint, what is left to
  // units by what the instructions do; data that the L1 has wait for nothing, they take what their
  // instructions take. Some 100 microseconds.
  [[nodiscard]] Estimate estimate(const CacheSizes& caches) const;
  // Of the data, the last 400 at most; oldest first.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const;

 private:
  // Small, as there are many: shares of CodePlace, and the address of data, 0 where it is not known.
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
