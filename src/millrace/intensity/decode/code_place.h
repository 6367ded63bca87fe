// CodePlace: what the code around a sampled instruction does.
#pragma once

#include "millrace/intensity/decode/address_path.h"
#include "millrace/intensity/decode/code_bytes.h"

#include <cstdint>
#include <optional>

namespace millrace::intensity {

// Derived from the code alone: a thread at this place does this, whatever its data are.
struct CodePlace {
  // Shares of the operations in the following instructions, with sum 1: computing by unit, and memory
  // accesses. An addition that reads memory counts as two operations. A floating-point operation counts three
  // times, one on integer vectors twice.
  double integer = 0;
  double fp = 0;
  double simd = 0;
  double memory = 0;
  // 1 if the thread may be waiting for data: the instruction reads memory, or the one before it in a loop
  // did. A wait is often attributed to the instruction after the load. 0.5 if the instruction that reads also
  // computes in floating point: it may be waiting for that instead.
  double at_load = 0;
  // The mean of at_load over the instructions, which is its expected value by chance.
  double chance_at_load = 0;
  // The address of the data that are read or written here or next, from the registers at this place.
  std::optional<AddressPath> data;
};

// Follows the code from `address`, taking backward branches as loops do. Returns nothing if there is no code.
// Accepts any bytes and always terminates: it looks at about 100 instructions.
[[nodiscard]] std::optional<CodePlace> code_place(std::uint64_t address, CodeBytes& code);

}  // namespace millrace::intensity
