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
    // Sign manipulation of floats. A register combined with itself gives zero, which uses no unit.
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

// Returns nothing if the address needs more than general registers (thread-local data, vectors of addresses).
// Also nothing for fixed addresses (relative to the code, or on the stack), which say nothing about how far
// the data reach.
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

using StepOperation = RegisterStep::Operation;
using StepSource = RegisterStep::Source;
using OperandList = std::span<const ZydisDecodedOperand>;

// The low 8 to 64 bits of a register; ah and its like are excluded.
std::optional<StepSource> register_source(ZydisRegister name, bool is_signed = false) {
  const auto number = general_register(name);
  if (!number || (name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH)) return std::nullopt;
  return StepSource{.from = number,
                    .bits =
                        static_cast<std::uint8_t>(ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, name)),
                    .is_signed = is_signed};
}

std::optional<StepSource> source_of(const ZydisDecodedOperand& operand, bool is_signed = false) {
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) return register_source(operand.reg.value, is_signed);
  if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return StepSource{.from = {}, .constant = operand.imm.value.u};
  return std::nullopt;
}

// Returns nothing if the target is not a register.
std::optional<RegisterStep> step_to(const ZydisDecodedOperand& target, StepOperation operation) {
  if (target.type != ZYDIS_OPERAND_TYPE_REGISTER) return std::nullopt;
  const auto found = register_source(target.reg.value);
  if (!found) return std::nullopt;
  return RegisterStep{.operation = operation, .bits = found->bits, .target = *found->from};
}

// target = first OPERATION second
std::optional<RegisterStep> binary(const ZydisDecodedOperand& target, StepOperation operation,
                                   const std::optional<StepSource>& first,
                                   const std::optional<StepSource>& second) {
  auto step = step_to(target, operation);
  if (!step || !first || !second) return std::nullopt;
  step->first = *first;
  step->second = *second;
  return step;
}

std::optional<RegisterStep> extended(OperandList operands, bool is_signed) {
  return binary(operands[0], StepOperation::sum, source_of(operands[1], is_signed), StepSource{});
}

std::optional<RegisterStep> address_step(OperandList operands) {
  auto step = step_to(operands[0], StepOperation::sum);
  const auto& memory = operands[1].mem;
  constexpr int whole_addresses = 64;
  if (!step) return std::nullopt;
  for (const auto& [name, source] : {std::pair{memory.base, &step->first}, {memory.index, &step->second}}) {
    if (name == ZYDIS_REGISTER_NONE) continue;
    const auto found = register_source(name);
    // Excludes code-relative and 32-bit addresses.
    if (!found || found->bits != whole_addresses) return std::nullopt;
    *source = *found;
  }
  step->scale = memory.index == ZYDIS_REGISTER_NONE ? 1 : memory.scale;
  if (memory.disp.has_displacement) step->addend = memory.disp.value;
  return step;
}

// Both halves of the product of rax, or rdx, and the operand.
std::optional<RegisterStep> double_product(const ZydisDecodedOperand& low, const ZydisDecodedOperand& high,
                                           ZydisRegister with, const ZydisDecodedOperand& factor,
                                           bool is_signed) {
  auto step = binary(low, StepOperation::product, register_source(with), source_of(factor));
  const auto high_target = step_to(high, StepOperation::product);
  constexpr int least_bits = 32;  // narrower products go to ax alone, or leave parts of rdx unchanged
  if (!step || !high_target || step->bits < least_bits) return std::nullopt;
  step->high_target = high_target->target;
  step->is_signed = is_signed;
  return step;
}

// cdqe and the like: extends the lower half of the register.
RegisterStep extended_accumulator(std::uint8_t bits) {
  constexpr std::uint8_t rax = 0;
  return {.bits = bits,
          .target = rax,
          .first = {.from = rax, .bits = static_cast<std::uint8_t>(bits / 2), .is_signed = true}};
}

// cdq, cqo: fills rdx with the sign of rax.
RegisterStep accumulator_sign(std::uint8_t bits) {
  constexpr std::uint8_t rax = 0;
  constexpr std::uint8_t rdx = 2;
  return {.operation = StepOperation::shift_right_signed,
          .bits = bits,
          .target = rdx,
          .first = {.from = rax},
          .second = {.from = {}, .constant = static_cast<std::uint64_t>(bits - 1)}};
}

// Returns nothing for instructions that read memory or flags, or that compilers do not use for addresses.
std::optional<RegisterStep> step_of(ZydisMnemonic mnemonic, OperandList visible, OperandList all) {
  const auto both = [&](StepOperation operation) -> std::optional<RegisterStep> {
    return binary(visible[0], operation, source_of(visible[0]), source_of(visible[1]));
  };
  const auto first_with = [&](StepOperation operation, std::uint64_t constant) {
    return binary(visible[0], operation, source_of(visible[0]), StepSource{.from = {}, .constant = constant});
  };
  const auto same_registers = [&] {
    return visible[0].type == ZYDIS_OPERAND_TYPE_REGISTER && visible[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           visible[0].reg.value == visible[1].reg.value;
  };
  constexpr std::uint64_t all_ones = ~std::uint64_t{0};
  switch (mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
  case ZYDIS_MNEMONIC_MOVZX:
    return extended(visible, false);
  case ZYDIS_MNEMONIC_MOVSX:
  case ZYDIS_MNEMONIC_MOVSXD:
    return extended(visible, true);
  case ZYDIS_MNEMONIC_LEA:
    return address_step(visible);
  case ZYDIS_MNEMONIC_ADD:
    return both(StepOperation::sum);
  case ZYDIS_MNEMONIC_INC:
    return first_with(StepOperation::sum, 1);
  case ZYDIS_MNEMONIC_DEC:
    return first_with(StepOperation::difference, 1);
  case ZYDIS_MNEMONIC_NEG:
    return binary(visible[0], StepOperation::difference, StepSource{}, source_of(visible[0]));
  case ZYDIS_MNEMONIC_NOT:
    return first_with(StepOperation::exclusive_disjunction, all_ones);
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_XOR:
    // Zero, whatever the register held.
    if (same_registers()) return binary(visible[0], StepOperation::sum, StepSource{}, StepSource{});
    return both(mnemonic == ZYDIS_MNEMONIC_SUB ? StepOperation::difference
                                               : StepOperation::exclusive_disjunction);
  case ZYDIS_MNEMONIC_AND:
    return both(StepOperation::conjunction);
  case ZYDIS_MNEMONIC_OR:
    return both(StepOperation::disjunction);
  case ZYDIS_MNEMONIC_ANDN:
    return binary(visible[0], StepOperation::conjunction_with_complement, source_of(visible[1]),
                  source_of(visible[2]));
  case ZYDIS_MNEMONIC_SHL:
    return both(StepOperation::shift_left);
  case ZYDIS_MNEMONIC_SHR:
    return both(StepOperation::shift_right);
  case ZYDIS_MNEMONIC_SAR:
    return both(StepOperation::shift_right_signed);
  case ZYDIS_MNEMONIC_ROL:
    return both(StepOperation::rotate_left);
  case ZYDIS_MNEMONIC_ROR:
    return both(StepOperation::rotate_right);
  case ZYDIS_MNEMONIC_SHLX:
    return binary(visible[0], StepOperation::shift_left, source_of(visible[1]), source_of(visible[2]));
  case ZYDIS_MNEMONIC_SHRX:
    return binary(visible[0], StepOperation::shift_right, source_of(visible[1]), source_of(visible[2]));
  case ZYDIS_MNEMONIC_SARX:
    return binary(visible[0], StepOperation::shift_right_signed, source_of(visible[1]),
                  source_of(visible[2]));
  case ZYDIS_MNEMONIC_RORX:
    return binary(visible[0], StepOperation::rotate_right, source_of(visible[1]), source_of(visible[2]));
  case ZYDIS_MNEMONIC_IMUL:
    if (visible.size() == 3)
      return binary(visible[0], StepOperation::product, source_of(visible[1]), source_of(visible[2]));
    if (visible.size() == 2) return both(StepOperation::product);
    [[fallthrough]];
  case ZYDIS_MNEMONIC_MUL: {
    // The hidden operands are rax, which is read and written, and rdx.
    if (all.size() < 3) return std::nullopt;
    return double_product(all[1], all[2], all[1].reg.value, visible[0], mnemonic == ZYDIS_MNEMONIC_IMUL);
  }
  case ZYDIS_MNEMONIC_MULX: {
    const bool wide = visible[0].size == 64;
    return double_product(visible[1], visible[0], wide ? ZYDIS_REGISTER_RDX : ZYDIS_REGISTER_EDX, visible[2],
                          false);
  }
  case ZYDIS_MNEMONIC_CWDE:
    return extended_accumulator(32);
  case ZYDIS_MNEMONIC_CDQE:
    return extended_accumulator(64);
  case ZYDIS_MNEMONIC_CDQ:
    return accumulator_sign(32);
  case ZYDIS_MNEMONIC_CQO:
    return accumulator_sign(64);
  default:
    return std::nullopt;
  }
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
  // String instructions access memory through hidden operands. Hidden operands of other instructions are the
  // stack, which does not count.
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
  // An instruction that writes only to memory changes no register.
  if (written != 0) found.step = step_of(decoded.mnemonic, visible, operands);
  const bool goes = found.flow == Instruction::Flow::branches || found.flow == Instruction::Flow::jumps ||
                    found.flow == Instruction::Flow::calls;
  ZyanU64 target = 0;
  if (goes && !visible.empty() && visible.front().type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
      ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded, &visible.front(), address, &target)))
    found.target = target;
  return found;
}

}  // namespace millrace::intensity
