// RegisterStep: the effect of an instruction on general registers, so that addresses can be followed through
// it.
//
//   RegisterStep step = *decode(code, address)->step;   // of `shr rdx, 3`
//   apply(step, registers);                             // registers[rdx] >>= 3
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace millrace::intensity {

// General registers, numbered as in machine code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
inline constexpr std::size_t general_registers = 16;
using Registers = std::array<std::uint64_t, general_registers>;
// One bit per register.
using RegisterSet = std::uint16_t;

struct RegisterStep {
  enum class Operation : std::uint8_t {
    sum,         // first + second * scale + addend
    difference,  // first - second
    product,     // the low half goes to `target`, the high half to `high_target`, if there is one
    conjunction,
    disjunction,
    exclusive_disjunction,
    conjunction_with_complement,  // complements the first operand
    shift_left,                   // by the number in the low bits of the second
    shift_right,
    shift_right_signed,
    rotate_left,
    rotate_right,
  };

  // The low bits of a register, extended to 64; a constant if there is no register.
  struct Source {
    std::optional<std::uint8_t> from;
    std::uint64_t constant = 0;
    std::uint8_t bits = 64;
    bool is_signed = false;
  };

  Operation operation = Operation::sum;
  std::uint8_t bits = 64;  // of the result: 32 clears the bits above, smaller sizes keep them
  std::uint8_t target = 0;
  std::optional<std::uint8_t> high_target;
  bool is_signed = false;  // for products whose high half is kept
  std::uint8_t scale = 1;
  std::int64_t addend = 0;
  Source first;
  Source second;
};

void apply(const RegisterStep& step, Registers& registers);

// The registers that the step reads, including the target if part of it is kept.
[[nodiscard]] RegisterSet sources_of(const RegisterStep& step);
[[nodiscard]] RegisterSet targets_of(const RegisterStep& step);

}  // namespace millrace::intensity
