// Instruction: the execution units and memory that one machine instruction (x86-64) uses.
#pragma once

#include "millrace/intensity/decode/register_step.h"
#include "millrace/machine/processor/demand.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace millrace::intensity {

// The address of an instruction's data: base + index * scale + displacement.
struct DataOperand {
  std::optional<std::uint8_t> base;
  std::optional<std::uint8_t> index;
  std::uint8_t scale = 1;
  std::int64_t displacement = 0;

  [[nodiscard]] std::uint64_t address(const Registers& registers) const;
  // The registers in the address.
  [[nodiscard]] RegisterSet needs() const;
};

struct Instruction {
  // How execution continues: `jumps` always goes to `target`, `branches` may. After `leaves`, the next
  // address is not known without running the instruction.
  enum class Flow : std::uint8_t { next, branches, jumps, calls, leaves };

  std::uint8_t length = 0;
  std::optional<machine::SharedUnit> unit;  // integer, fp or simd; empty: it only moves data, or does nothing
  bool reads_memory = false;                // not counting the stack accesses of calls and pushes
  bool writes_memory = false;
  Flow flow = Flow::next;
  std::optional<std::uint64_t> target;  // of a branch, jump or call, if it is encoded in the instruction
  // Its first memory operand, if its address depends on general registers alone and is not on the stack.
  std::optional<DataOperand> data;
  RegisterSet writes = 0;
  // Its complete effect on registers, if that depends on registers and constants alone.
  std::optional<RegisterStep> step;
};

inline constexpr std::size_t longest_instruction = 15;

// Decodes the instruction at the start of `code`, as if it were at `address`. Returns nothing if it is
// invalid or truncated. Accepts any bytes. Takes about 100 ns.
[[nodiscard]] std::optional<Instruction> decode(std::span<const std::byte> code, std::uint64_t address);

}  // namespace millrace::intensity
