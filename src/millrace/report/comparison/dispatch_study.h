// The experiments of the UDispatch+ paper on the skip-line coder: tables IV and VII and figure 5. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/report/comparison/comparison.h"

#include <compare>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::report {

enum class DispatchStudy { table4, table7, fig5 };
// "dispatch-table4", "dispatch-table7", "dispatch-fig5"
[[nodiscard]] std::string_view name_of(DispatchStudy study);
[[nodiscard]] std::string_view title_of(DispatchStudy study);
[[nodiscard]] std::span<const DispatchStudy> all_dispatch_studies();

enum class Variant { basic, swing, tow };
enum class Verb { encode, decode };
// Who places the threads: the kernel; the program itself, one to one or main on the least loaded core too
// (UDispatch); `millrace exec`, the same two (UDispatch+).
enum class Binding { none, own_one_to_one, own_main, plus_one_to_one, plus_main };
[[nodiscard]] std::string_view name_of(Variant variant);  // as millrace-skipline has it
[[nodiscard]] std::string_view name_of(Verb verb);
[[nodiscard]] std::string_view name_of(Binding binding);  // the paper's: "NoB", "1-1", "M-L", "1-1+", "M-L+"

struct DispatchSetting {
  Variant variant = Variant::basic;
  Verb verb = Verb::encode;
  Binding binding = Binding::none;

  auto operator<=>(const DispatchSetting&) const = default;
};

struct DispatchObservations {
  int cpus = 1;
  int threads = 4;
  std::map<DispatchSetting, std::vector<double>> ms;  // of each execution, in turns
};

// What the studies need, each once.
[[nodiscard]] std::vector<DispatchSetting> dispatch_settings(std::span<const DispatchStudy> studies);
// Failure where something was not observed, or not as often as the rest.
[[nodiscard]] Result<Comparison> compare(DispatchStudy study, const DispatchObservations& observed);

}  // namespace millrace::report
