// The UDispatch+ paper's experiments on the skip-line coder: tables IV and VII and figure 5. Pure.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/report/comparison/comparison.h"
#include "millrace/report/comparison/placement_gain.h"

#include <compare>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::report {

enum class DispatchStudy { table4, table7, fig5 };
// "dispatch-table4", "dispatch-table7", "dispatch-fig5"
[[nodiscard]] std::string_view name_of(DispatchStudy study);
[[nodiscard]] std::string_view title_of(DispatchStudy study);
[[nodiscard]] std::span<const DispatchStudy> all_dispatch_studies();

enum class Variant { basic, swing, tow };
enum class Verb { encode, decode };
[[nodiscard]] std::string_view name_of(Variant variant);  // as in millrace-skipline
[[nodiscard]] std::string_view name_of(Verb verb);

struct DispatchSetting {
  Variant variant = Variant::basic;
  Verb verb = Verb::encode;
  Binding binding = Binding::none;

  auto operator<=>(const DispatchSetting&) const = default;
};

struct DispatchObservations {
  int cpus = 1;
  int threads = 4;
  std::map<DispatchSetting, std::vector<double>> ms;    // of each execution, interleaved
  std::map<std::pair<Variant, Verb>, double> alone_ms;  // of one thread on one CPU; for the two tables
  ThreadCosts costs;
};

// All settings that the studies need, each once.
[[nodiscard]] std::vector<DispatchSetting> dispatch_settings(std::span<const DispatchStudy> studies);
// Fails if a setting was not observed, or less often than the others.
[[nodiscard]] Result<Comparison> compare(DispatchStudy study, const DispatchObservations& observed);

}  // namespace millrace::report
