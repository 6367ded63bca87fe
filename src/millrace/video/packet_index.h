// PacketIndex: when the frames of a file are shown, and where decoding can begin, without decoding any.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

struct IndexedPacket {
  std::optional<std::int64_t> shown;  // in units of the time base
  bool key = false;                   // decoding may begin here, so far as the file tells
  bool discarded = false;             // is decoded, and not shown
};

struct PacketIndex {
  int time_base_numerator = 0;  // seconds in a unit of time
  int time_base_denominator = 1;
  std::vector<IndexedPacket> packets;  // in the order of decoding

  // Each with a time of its own: what frames will be is known, so far as the file is as it should be.
  [[nodiscard]] bool has_times() const;
};

// Reads a file to its end. Errors as of open_reader(); failure where a packet is damaged, or the file ends
// too early.
[[nodiscard]] Result<PacketIndex> index_packets(const std::string& file, const std::stop_token& stop = {});

}  // namespace millrace::video
