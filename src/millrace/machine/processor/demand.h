// Demand: how much a thread uses each resource that processing units (PUs) share.
//
//   Demand d;                                  // computes with floating point, and walks through the L2
//   cache d[SharedUnit::fp] = 0.8; d[SharedUnit::l2] = 0.2;
#pragma once

#include "millrace/base/error/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::machine {

// Resources that threads may compete for: execution units, and memory levels by the location of their data.
enum class SharedUnit : std::uint8_t { integer, fp, simd, l1, l2, llc, dram };
inline constexpr std::size_t shared_units = 7;
inline constexpr std::array<SharedUnit, shared_units> all_shared_units{
    SharedUnit::integer, SharedUnit::fp,  SharedUnit::simd, SharedUnit::l1,
    SharedUnit::l2,      SharedUnit::llc, SharedUnit::dram};

// "int", "fp", "simd", "l1", "l2", "llc", "dram".
[[nodiscard]] std::string_view name_of(SharedUnit unit);
[[nodiscard]] std::optional<SharedUnit> shared_unit_of(std::string_view name);

// One value per unit. The variable's name says what the value means.
template <class T> class PerUnit {
 public:
  [[nodiscard]] T& operator[](SharedUnit unit) { return values_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] const T& operator[](SharedUnit unit) const { return values_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] bool operator==(const PerUnit&) const = default;

 private:
  std::array<T, shared_units> values_{};
};

// Shares of a thread's time, each 0 to 1, with a sum of 1. A share is the time that suffers if another thread
// uses the same unit.
using Demand = PerUnit<double>;

// Returns a usage error that names the unit if a share is out of range, or the sum if it differs from 1 by
// more than 0.01.
[[nodiscard]] Status check(const Demand& demand);

}  // namespace millrace::machine
