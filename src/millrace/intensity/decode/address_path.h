// AddressPath: how the address of data is computed from the registers some instructions earlier.
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

  // Computes the address from the registers at the beginning of the path.
  [[nodiscard]] std::uint64_t address(const Registers& registers) const;
};

// Follows registers through the code from one place on. A register is known as long as every instruction that
// wrote it is understood and used only known registers.
class FollowedRegisters {
 public:
  // The path to the address of the operand at this point. Nothing if it needs a register that is not known.
  [[nodiscard]] std::optional<AddressPath> path_to(const DataOperand& operand) const;
  void go_past(const Instruction& instruction);

 private:
  RegisterSet known_ = static_cast<RegisterSet>(~0U);
  std::vector<RegisterStep> steps_;
};

}  // namespace millrace::intensity
