#include "millrace/model/contention/placement_toml.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Any input gives a one-line error, or threads on a machine whose placements can be evaluated.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto placed = model::parse_placement_toml(text, "fuzz.toml");
  if (!placed) {
    if (placed.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const model::PuOfThread all_on_one(placed->threads.size(), placed->machine.pus - 1);
  if (placed->threads.size() > 64) return 0;  // too slow for many threads
  for (const double slowdown : model::slowdowns_of(placed->machine, placed->threads, all_on_one))
    if (!(slowdown >= 1)) std::abort();
  return 0;
}
