#include "millrace/intensity/decode/register_step.h"

#include <bit>
#include <utility>

namespace millrace::intensity {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned all_bits = 64;

std::uint64_t low_bits(std::uint64_t value, unsigned bits) {
  return bits >= all_bits ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t sign_extended(std::uint64_t value, unsigned bits) {
  if (bits >= all_bits) return value;
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return (low_bits(value, bits) ^ sign) - sign;
}

std::uint64_t value_of(const RegisterStep::Source& source, const Registers& registers) {
  if (!source.from) return source.constant;
  const std::uint64_t whole = registers[*source.from];
  return source.is_signed ? sign_extended(whole, source.bits) : low_bits(whole, source.bits);
}

std::uint64_t rotated_left(std::uint64_t value, unsigned count, unsigned bits) {
  if (bits == all_bits) return std::rotl(value, static_cast<int>(count));
  count %= bits;
  value = low_bits(value, bits);
  return value << count | value >> (bits - count);
}

std::uint64_t shifted(const RegisterStep& step, std::uint64_t value, std::uint64_t by) {
  using enum RegisterStep::Operation;
  const unsigned bits = step.bits;
  // The processor uses five bits of the count, six for 64-bit values.
  const auto count = static_cast<unsigned>(by & (bits == all_bits ? 63U : 31U));
  switch (step.operation) {
  case shift_left:
    return value << count;
  case shift_right:
    return low_bits(value, bits) >> count;
  case shift_right_signed:
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(sign_extended(value, bits)) >> count);
  case rotate_left:
    return rotated_left(value, count, bits);
  default:
    return rotated_left(value, bits - count % bits, bits);
  }
}

// Returns the low half first.
std::pair<std::uint64_t, std::uint64_t> product_of(const RegisterStep& step, std::uint64_t a,
                                                   std::uint64_t b) {
  if (step.bits < all_bits) {
    a = step.is_signed ? sign_extended(a, step.bits) : low_bits(a, step.bits);
    b = step.is_signed ? sign_extended(b, step.bits) : low_bits(b, step.bits);
    return {a * b, a * b >> step.bits};
  }
  auto high = static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> all_bits);
  if (step.is_signed) {
    if (a >> (all_bits - 1) != 0) high -= b;
    if (b >> (all_bits - 1) != 0) high -= a;
  }
  return {a * b, high};
}

void put(std::uint64_t value, std::uint8_t target, unsigned bits, Registers& registers) {
  constexpr unsigned clears_those_above = 32;
  const std::uint64_t stays =
      bits >= clears_those_above ? 0 : registers[target] & ~((std::uint64_t{1} << bits) - 1);
  registers[target] = stays | low_bits(value, bits);
}

RegisterSet bit(std::uint8_t number) { return static_cast<RegisterSet>(1U << number); }

}  // namespace

void apply(const RegisterStep& step, Registers& registers) {
  using enum RegisterStep::Operation;
  const std::uint64_t a = value_of(step.first, registers);
  const std::uint64_t b = value_of(step.second, registers);
  std::uint64_t result = 0;
  switch (step.operation) {
  case sum:
    result = a + b * step.scale + static_cast<std::uint64_t>(step.addend);
    break;
  case difference:
    result = a - b;
    break;
  case product: {
    const auto [low, high] = product_of(step, a, b);
    put(low, step.target, step.bits, registers);
    // If both halves have the same target, the high one is kept.
    if (step.high_target) put(high, *step.high_target, step.bits, registers);
    return;
  }
  case conjunction:
    result = a & b;
    break;
  case disjunction:
    result = a | b;
    break;
  case exclusive_disjunction:
    result = a ^ b;
    break;
  case conjunction_with_complement:
    result = ~a & b;
    break;
  case shift_left:
  case shift_right:
  case shift_right_signed:
  case rotate_left:
  case rotate_right:
    result = shifted(step, a, b);
    break;
  }
  put(result, step.target, step.bits, registers);
}

RegisterSet sources_of(const RegisterStep& step) {
  unsigned set = 0;
  for (const auto& source : {step.first, step.second})
    if (source.from) set |= bit(*source.from);
  constexpr unsigned clears_those_above = 32;
  if (step.bits < clears_those_above) set |= targets_of(step);
  return static_cast<RegisterSet>(set);
}

RegisterSet targets_of(const RegisterStep& step) {
  return static_cast<RegisterSet>(bit(step.target) | (step.high_target ? bit(*step.high_target) : 0U));
}

}  // namespace millrace::intensity
