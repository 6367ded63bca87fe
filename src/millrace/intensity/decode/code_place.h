// CodePlace: what the code around one instruction does, as a sample finds it.
#pragma once

#include "millrace/intensity/decode/address_path.h"
#include "millrace/intensity/decode/code_bytes.h"

#include <cstdint>
#include <optional>

namespace millrace::intensity {

// Read off the code alone: a thread that is at this place does this, whatever its data are.
struct CodePlace {
  // Shares of the operations in the instructions that follow, in sum 1: computing by unit, and going to
  // memory. An addition that reads memory is two;
  // one of floats counts three times, one of vectors of integers twice.
  double integer = 0;
  double fp = 0;
  double simd = 0;
  double memory = 0;
  // 1 where the thread may be waiting for data: the instruction reads memory, or the one that was before it
  // in a loop did. What it waits for is often told of only after it. Half where it also computes floats: it
  // may be waiting for these.
  double at_load = 0;
  // The mean of that over the instructions: what it would be by chance.
  double chance_at_load = 0;
  // Where the data lie that are read or written here or next, by the registers at this place.
  std::optional<AddressPath> data;
};

// Follows the code from `address` on, taking branches that go back, as loops do. Nothing where there is no
// code. Any bytes are taken for code, and it ends for any: some 100 instructions are looked at.
[[nodiscard]] std::optional<CodePlace> code_place(std::uint64_t address, CodeBytes& code);

}  // namespace millrace::intensity
