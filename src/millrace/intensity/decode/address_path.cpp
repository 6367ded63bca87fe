#include "millrace/intensity/decode/address_path.h"

#include <algorithm>
#include <ranges>

namespace millrace::intensity {

std::uint64_t AddressPath::address(const Registers& registers) const {
  if (steps.empty()) return operand.address(registers);
  Registers followed = registers;
  for (const RegisterStep& step : steps)
    apply(step, followed);
  return operand.address(followed);
}

std::optional<AddressPath> FollowedRegisters::path_to(const DataOperand& operand) const {
  unsigned needed = operand.needs();
  if ((needed & ~unsigned{known_}) != 0) return std::nullopt;
  AddressPath path{.steps = {}, .operand = operand};
  for (const RegisterStep& step : std::views::reverse(steps_)) {
    if ((needed & targets_of(step)) == 0) continue;
    needed = (needed & ~unsigned{targets_of(step)}) | sources_of(step);
    path.steps.push_back(step);
  }
  std::ranges::reverse(path.steps);
  return path;
}

void FollowedRegisters::go_past(const Instruction& instruction) {
  // The called function may change any register.
  if (instruction.flow == Instruction::Flow::calls) known_ = 0;
  const bool understood = instruction.step && (sources_of(*instruction.step) & ~unsigned{known_}) == 0;
  if (understood) steps_.push_back(*instruction.step);
  known_ = static_cast<RegisterSet>(understood ? known_ | instruction.writes : known_ & ~instruction.writes);
}

}  // namespace millrace::intensity
