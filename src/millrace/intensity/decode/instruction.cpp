#include "millrace/intensity/decode/instruction.h"

#include <algorithm>

#include <Zydis/Zydis.h>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;

constexpr std::uint8_t stack_pointer = 4;

const ZydisDecoder& decoder() {
  static const ZydisDecoder made = [] {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return decoder;
  }();
  return made;
}

std::optional<std::uint8_t> general_register(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return std::nullopt;
  return static_cast<std::uint8_t>(ZydisRegisterGetId(whole));
}

bool is_vector(ZydisRegister name) {
  switch (ZydisRegisterGetClass(name)) {
  case ZYDIS_REGCLASS_MMX:
  case ZYDIS_REGCLASS_XMM:
  case ZYDIS_REGCLASS_YMM:
  case ZYDIS_REGCLASS_ZMM:
    return true;
  default:
    return false;
  }
}

bool is_float(ZydisElementType type) {
  return type == ZYDIS_ELEMENT_TYPE_FLOAT16 || type == ZYDIS_ELEMENT_TYPE_FLOAT32 ||
         type == ZYDIS_ELEMENT_TYPE_FLOAT64 || type == ZYDIS_ELEMENT_TYPE_FLOAT80;
}

bool in_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
}

std::optional<SharedUnit> unit_of(const ZydisDecodedInstruction& instruction,
                                  std::span<const ZydisDecodedOperand> operands) {
  switch (instruction.meta.category) {
  case ZYDIS_CATEGORY_DATAXFER:
  case ZYDIS_CATEGORY_NOP:
  case ZYDIS_CATEGORY_WIDENOP:
  case ZYDIS_CATEGORY_PREFETCH:
  case ZYDIS_CATEGORY_STRINGOP:
    return std::nullopt;
  case ZYDIS_CATEGORY_X87_ALU:
    return SharedUnit::fp;
  default:
    break;
  }
  if (instruction.meta.category == ZYDIS_CATEGORY_LOGICAL_FP && instruction.operand_count_visible > 1) {
    // Signs of floats; but what is combined with itself makes a zero, which takes no unit.
    const auto sources = operands.first(instruction.operand_count_visible).last(2);
    const bool zero =
        std::ranges::all_of(
            sources, [&](const auto& operand) { return operand.type == ZYDIS_OPERAND_TYPE_REGISTER; }) &&
        sources[0].reg.value == sources[1].reg.value;
    return zero ? std::nullopt : std::optional(SharedUnit::fp);
  }
  bool vector = false;
  bool floating = false;
  for (const ZydisDecodedOperand& operand : operands) {
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) vector = vector || is_vector(operand.reg.value);
    floating = floating || is_float(operand.element_type);
  }
  if (!vector) return SharedUnit::integer;
  return floating ? SharedUnit::fp : SharedUnit::simd;
}

Instruction::Flow flow_of(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
  case ZYDIS_CATEGORY_COND_BR:
    return Instruction::Flow::branches;
  case ZYDIS_CATEGORY_UNCOND_BR:
    return Instruction::Flow::jumps;
  case ZYDIS_CATEGORY_CALL:
    return Instruction::Flow::calls;
  case ZYDIS_CATEGORY_RET:
  case ZYDIS_CATEGORY_INTERRUPT:
  case ZYDIS_CATEGORY_SYSRET:
    return Instruction::Flow::leaves;
  default:
    return Instruction::Flow::next;
  }
}

// Nothing where more than general registers is needed (thread-local data, vectors of addresses), and for what
// lies at one place for good (beside the code, on the stack), which says nothing of how far data reach.
std::optional<DataOperand> data_operand(const ZydisDecodedOperand& operand) {
  const auto& memory = operand.mem;
  if (memory.type != ZYDIS_MEMOP_TYPE_MEM || memory.segment == ZYDIS_REGISTER_FS ||
      memory.segment == ZYDIS_REGISTER_GS)
    return std::nullopt;
  DataOperand data;
  if (memory.base != ZYDIS_REGISTER_NONE) {
    data.base = general_register(memory.base);
    if (!data.base || *data.base == stack_pointer) return std::nullopt;
  }
  if (memory.index != ZYDIS_REGISTER_NONE) {
    data.index = general_register(memory.index);
    if (!data.index) return std::nullopt;
    data.scale = memory.scale;
  }
  if (!data.base && !data.index) return std::nullopt;
  if (memory.disp.has_displacement) data.displacement = memory.disp.value;
  return data;
}

}  // namespace

std::uint64_t DataOperand::address(const Registers& registers) const {
  std::uint64_t sum = static_cast<std::uint64_t>(displacement);
  if (base) sum += registers[*base];
  if (index) sum += registers[*index] * scale;
  return sum;
}

RegisterSet DataOperand::needs() const {
  unsigned set = 0;
  if (base) set |= 1U << *base;
  if (index) set |= 1U << *index;
  return static_cast<RegisterSet>(set);
}

std::optional<Instruction> decode(std::span<const std::byte> code, std::uint64_t address) {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> all_operands;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.data(),
                                           std::min(code.size(), longest_instruction), &decoded,
                                           all_operands.data())))
    return std::nullopt;
  const auto operands = std::span(all_operands).first(decoded.operand_count);
  const auto visible = operands.first(decoded.operand_count_visible);
  Instruction found{.length = decoded.length, .unit = unit_of(decoded, operands), .flow = flow_of(decoded)};
  const bool touches = decoded.meta.category != ZYDIS_CATEGORY_PREFETCH &&
                       decoded.meta.category != ZYDIS_CATEGORY_NOP &&
                       decoded.meta.category != ZYDIS_CATEGORY_WIDENOP;
  // Copying a string is going to memory, though the instruction does not spell it out; the stack is not
  // meant.
  const bool string = decoded.meta.category == ZYDIS_CATEGORY_STRINGOP;
  for (const ZydisDecodedOperand& operand : string ? operands : visible) {
    if (!touches || !in_memory(operand)) continue;
    found.reads_memory = found.reads_memory || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    found.writes_memory = found.writes_memory || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!found.data) found.data = data_operand(operand);
  }
  unsigned written = 0;
  for (const ZydisDecodedOperand& operand : operands)
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
      if (const auto number = general_register(operand.reg.value)) written |= 1U << *number;
  found.writes = static_cast<RegisterSet>(written);
  const bool goes = found.flow == Instruction::Flow::branches || found.flow == Instruction::Flow::jumps ||
                    found.flow == Instruction::Flow::calls;
  ZyanU64 target = 0;
  if (goes && !visible.empty() && visible.front().type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
      ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &visible.front(), address, &target)))
    found.target = target;
  return found;
}

}  // namespace millrace::intensity
