// PacketIndex: presentation times and keyframes of a file, found without decoding.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

struct IndexedPacket {
  std::optional<std::int64_t> shown;  // in units of the time base
  bool key = false;                   // decoding may begin here; not at a gradual refresh
  bool discarded = false;             // decoded but not shown
};

struct PacketIndex {
  int time_base_numerator = 0;  // seconds per unit of time
  int time_base_denominator = 1;
  std::vector<IndexedPacket> packets;  // in decoding order

  // Whether every packet has a distinct time. Then the frames are known in advance, unless the file is
  // damaged.
  [[nodiscard]] bool has_times() const;
};

// Reads a whole file. Errors are those of open_reader(). Fails if a packet is damaged or the file is
// truncated.
[[nodiscard]] Result<PacketIndex> index_packets(const std::string& file, const std::stop_token& stop = {});

}  // namespace millrace::video
