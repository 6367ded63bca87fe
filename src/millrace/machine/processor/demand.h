// What a thread uses of what processing units (PUs) share.
//
//   Demand d;                                  // computes with floating point, and walks through the L2
//   cache d[SharedUnit::fp] = 0.8; d[SharedUnit::l2] = 0.2;
#pragma once

#include "millrace/base/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::machine {

// What threads may want at the same time: execution units, and levels of memory by where their data lie.
enum class SharedUnit : std::uint8_t { integer, fp, simd, l1, l2, llc, dram };
inline constexpr std::size_t shared_units = 7;
inline constexpr std::array<SharedUnit, shared_units> all_shared_units{
    SharedUnit::integer, SharedUnit::fp,  SharedUnit::simd, SharedUnit::l1,
    SharedUnit::l2,      SharedUnit::llc, SharedUnit::dram};

// "int", "fp", "simd", "l1", "l2", "llc", "dram".
[[nodiscard]] std::string_view name_of(SharedUnit unit);
[[nodiscard]] std::optional<SharedUnit> shared_unit_of(std::string_view name);

// A value for each unit; whose meaning says the name of the variable.
template <class T> class PerUnit {
 public:
  [[nodiscard]] T& operator[](SharedUnit unit) { return values_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] const T& operator[](SharedUnit unit) const { return values_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] bool operator==(const PerUnit&) const = default;

 private:
  std::array<T, shared_units> values_{};
};

// Shares of a thread's time, each 0 to 1, in sum 1: what it would lose time to, if another wanted the same.
using Demand = PerUnit<double>;

// Usage error that names the unit where a share is out of range, or the sum where that is not 1 within a
// hundredth.
[[nodiscard]] Status check(const Demand& demand);

}  // namespace millrace::machine
