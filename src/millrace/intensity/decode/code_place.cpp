#include "millrace/intensity/decode/code_place.h"

#include <algorithm>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;

// So many instructions tell what the code does.
constexpr int window = 24;
// Loops of up to so many are found.
constexpr int longest_loop = 64;
// Beyond so many, another place is as likely.
constexpr int nearest_data = 8;

// Where it goes on, as far as the code tells.
std::optional<std::uint64_t> next_of(const Instruction& instruction, std::uint64_t address) {
  const std::uint64_t following = address + instruction.length;
  switch (instruction.flow) {
  case Instruction::Flow::leaves:
    return std::nullopt;
  case Instruction::Flow::jumps:
    return instruction.target;
  case Instruction::Flow::branches:
    return instruction.target && *instruction.target < address ? *instruction.target : following;
  default:
    return following;  // after a call, once it has returned
  }
}

void add(CodePlace& place, const Instruction& instruction) {
  if (instruction.unit == SharedUnit::integer) ++place.integer;
  if (instruction.unit == SharedUnit::fp) ++place.fp;
  if (instruction.unit == SharedUnit::simd) ++place.simd;
  if (instruction.reads_memory) ++place.memory;
  if (instruction.writes_memory) ++place.memory;
}

void make_shares(CodePlace& place) {
  double sum = place.integer + place.fp + place.simd + place.memory;
  // Moves between registers alone take what integers take.
  if (sum == 0) sum = place.integer = 1;
  for (double* share : {&place.integer, &place.fp, &place.simd, &place.memory})
    *share /= sum;
}

}  // namespace

std::optional<CodePlace> code_place(std::uint64_t address, CodeBytes& code) {
  CodePlace place;
  std::optional<DataOperand> ahead;
  RegisterSet written = 0;
  bool same_registers = true;  // what is not `written` is as at `address`
  std::optional<Instruction> before;
  int seen = 0;
  int at_loads = 0;
  std::uint64_t at = address;
  for (int i = 0; i < longest_loop; ++i) {
    const auto instruction = code.instruction_at(at);
    if (!instruction) break;
    if (i < window) {
      add(place, *instruction);
      ++seen;
      if (instruction->reads_memory || (before && before->reads_memory)) ++at_loads;
    }
    if (i == 0) place.at_load = instruction->reads_memory;
    if (i < nearest_data && same_registers && !ahead && instruction->data &&
        (instruction->data->needs() & written) == 0)
      ahead = instruction->data;
    written = static_cast<RegisterSet>(written | instruction->writes);
    if (instruction->flow == Instruction::Flow::calls) same_registers = false;
    before = instruction;
    const auto next = next_of(*instruction, at);
    if (!next) break;
    at = *next;
    if (at != address) continue;
    // A loop: what was done just before. Its registers are as they were unless it changed them itself.
    if (before->reads_memory) {
      if (!place.at_load && i < window) ++at_loads;
      place.at_load = true;
    }
    if (before->data && before->reads_memory && (before->data->needs() & before->writes) == 0)
      place.data = before->data;
    // The window goes round it: the shares are those of one turn.
    break;
  }
  if (seen == 0) return std::nullopt;
  place.chance_at_load = static_cast<double>(at_loads) / seen;
  if (!place.data) place.data = ahead;
  make_shares(place);
  return place;
}

}  // namespace millrace::intensity
