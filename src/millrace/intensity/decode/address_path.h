// AddressPath: how the address of data follows from the registers some instructions before.
//
//   mov rax, rdx; shr rax, 20; movsx rdx, byte ptr [r8+rax]     two steps and the operand [r8+rax]
#pragma once

#include "millrace/intensity/decode/instruction.h"
#include "millrace/intensity/decode/register_step.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::intensity {

struct AddressPath {
  std::vector<RegisterStep> steps;  // only those that the address depends on
  DataOperand operand;

  // By the registers at the beginning of the path.
  [[nodiscard]] std::uint64_t address(const Registers& registers) const;
};

// Follows registers from one place in the code on: what each holds is known as long as only such instructions
// wrote it that are understood and needed no other data.
class FollowedRegisters {
 public:
  // The path to where the operand's data lie now. Nothing if a register that it needs is not known.
  [[nodiscard]] std::optional<AddressPath> path_to(const DataOperand& operand) const;
  void go_past(const Instruction& instruction);

 private:
  RegisterSet known_ = static_cast<RegisterSet>(~0U);
  std::vector<RegisterStep> steps_;
};

}  // namespace millrace::intensity
