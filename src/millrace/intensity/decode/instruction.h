// Instruction: what one machine instruction (x86-64) asks of execution units and memory.
#pragma once

#include "millrace/intensity/decode/register_step.h"
#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace millrace::intensity {

// Where an instruction finds its data: base + index * scale + displacement.
struct DataOperand {
  std::optional<std::uint8_t> base;
  std::optional<std::uint8_t> index;
  std::uint8_t scale = 1;
  std::int64_t displacement = 0;

  [[nodiscard]] std::uint64_t address(const Registers& registers) const;
  // The registers that tell it.
  [[nodiscard]] RegisterSet needs() const;
};

struct Instruction {
  // How it goes on: `jumps` always goes to `target`, `branches` perhaps; after `leaves` nobody knows without
  // running it.
  enum class Flow : std::uint8_t { next, branches, jumps, calls, leaves };

  std::uint8_t length = 0;
  std::optional<machine::SharedUnit>
      unit;                   // integer, fp or simd; nothing: it only moves data, or does nothing
  bool reads_memory = false;  // the stack that calls and pushes use does not count
  bool writes_memory = false;
  Flow flow = Flow::next;
  std::optional<std::uint64_t> target;  // of a branch, jump or call, where the instruction itself tells it
  // Its first operand in memory, where registers alone tell the address and that is not on the stack.
  std::optional<DataOperand> data;
  RegisterSet writes = 0;
  // All that it does to registers, if registers and constants alone tell it.
  std::optional<RegisterStep> step;
};

inline constexpr std::size_t longest_instruction = 15;

// The instruction that `code` begins with, as if it lay at `address`. Nothing where that is none, or cut off.
// Takes any bytes. Some 100 ns.
[[nodiscard]] std::optional<Instruction> decode(std::span<const std::byte> code, std::uint64_t address);

}  // namespace millrace::intensity
