#include "millrace/intensity/decode/code_place.h"

#include <algorithm>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;

// Number of instructions that characterise the code.
constexpr int window = 24;
// Longest loop that is recognised, in instructions.
constexpr int longest_loop = 64;
// Further ahead, the code may as likely have gone elsewhere. In a loop it certainly gets there.
constexpr int nearest_data = 8;

// Where execution continues, as far as the code tells.
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
    return following;  // after a call: where it returns to
  }
}

// A core has two to three times as many units for integers as for integer vectors or floating point, and
// those take longer for each operation.
constexpr double floating_point_weight = 3;
constexpr double vector_weight = 2;

void add(CodePlace& place, const Instruction& instruction) {
  if (instruction.unit == SharedUnit::integer) ++place.integer;
  if (instruction.unit == SharedUnit::fp) place.fp += floating_point_weight;
  if (instruction.unit == SharedUnit::simd) place.simd += vector_weight;
  if (instruction.reads_memory) ++place.memory;
  if (instruction.writes_memory) ++place.memory;
}

// Probability that a thread stopped at the instruction waits for data.
double waits(const Instruction& instruction) {
  constexpr double unknown = 0.5;
  if (!instruction.reads_memory) return 0;
  return instruction.unit == SharedUnit::fp ? unknown : 1;
}

void make_shares(CodePlace& place) {
  double sum = place.integer + place.fp + place.simd + place.memory;
  // Moves between registers alone cost as much as integer operations.
  if (sum == 0) sum = place.integer = 1;
  for (double* share : {&place.integer, &place.fp, &place.simd, &place.memory})
    *share /= sum;
}

}  // namespace

std::optional<CodePlace> code_place(std::uint64_t address, CodeBytes& code) {
  CodePlace place;
  FollowedRegisters registers;
  std::optional<AddressPath> ahead;       // to the nearest data
  std::optional<AddressPath> round_loop;  // to the nearest data in the rest of the loop
  std::optional<AddressPath> last;        // to the data of `before`
  std::optional<Instruction> before;
  int seen = 0;
  double at_loads = 0;
  double after_loads = 0;
  bool in_loop = false;
  std::uint64_t at = address;
  for (int i = 0; i < longest_loop; ++i) {
    const auto instruction = code.instruction_at(at);
    if (!instruction) break;
    if (i < window) {
      add(place, *instruction);
      ++seen;
      at_loads += waits(*instruction);
      if (before) after_loads += std::max(0.0, waits(*before) - waits(*instruction));
    }
    if (i == 0) place.at_load = waits(*instruction);
    last = instruction->data ? registers.path_to(*instruction->data) : std::nullopt;
    if (auto& nearest = i < nearest_data ? ahead : round_loop; !nearest) nearest = last;
    registers.go_past(*instruction);
    before = instruction;
    const auto next = next_of(*instruction, at);
    if (!next) break;
    at = *next;
    if (at != address) continue;
    in_loop = true;
    // In a loop, `before` was executed just before. Its registers still hold unless it changed them itself.
    if (waits(*before) > place.at_load) {
      if (i < window) after_loads += waits(*before) - place.at_load;
      place.at_load = waits(*before);
    }
    // If it changed them, the registers of the next iteration reach as far.
    if (before->data && before->reads_memory)
      place.data = (before->data->needs() & before->writes) == 0 ? AddressPath{{}, *before->data} : last;
    // The window covers one iteration, so the shares are those of an iteration.
    break;
  }
  if (seen == 0) return std::nullopt;
  // What was executed before is known only in loops.
  place.chance_at_load = (at_loads + (in_loop ? after_loads : 0)) / seen;
  if (!place.data) place.data = ahead ? ahead : in_loop ? round_loop : std::nullopt;
  make_shares(place);
  return place;
}

}  // namespace millrace::intensity
