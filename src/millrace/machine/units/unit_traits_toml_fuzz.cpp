// Any text is either rejected with one line, or parsed into traits whose formulas can be evaluated.
#include "millrace/machine/units/unit_traits_toml.h"

#include <cmath>
#include <cstdlib>

// libFuzzer defines the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace millrace::machine;
  const auto traits = parse_unit_traits({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
  if (!traits) {
    if (traits.error().message.contains('\n')) std::abort();
    return 0;
  }
  if (traits->family.empty() || traits->fp.shared_by < traits->integer.shared_by) std::abort();
  for (const auto& [unit, formula] : traits->counters.usage)
    if (!CounterFormula::parse(formula.text())) std::abort();
  for (const auto& [unit, formula] : traits->counters.usage)
    static_cast<void>(formula.evaluate([](std::string_view) { return 1.0; }));
  return 0;
}
