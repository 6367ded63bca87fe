// Reading must terminate for any bytes, and the shares must sum to 1.
#include "millrace/intensity/decode/code_place.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::intensity;
  // At the end of the address space, so that it wraps around.
  constexpr std::uint64_t start = ~std::uint64_t{0} - 2 * CodeBytes::page_bytes + 1;
  CodeBytes code([&](std::uint64_t address, CodeBytes::Page& page) {
    const std::uint64_t from = address - start;
    if (from >= size) return false;
    const std::size_t count = std::min(size - from, page.size());
    page.fill(std::byte{0});
    std::transform(data + from, data + from + count, page.begin(),
                   [](std::uint8_t byte) { return std::byte{byte}; });
    return true;
  });
  for (std::uint64_t offset = 0; offset < std::min<std::size_t>(size, 64); ++offset) {
    const auto place = code_place(start + offset, code);
    if (!place) continue;
    const double sum = place->integer + place->fp + place->simd + place->memory;
    if (!(std::abs(sum - 1) < 1e-9) || !(place->chance_at_load >= 0 && place->chance_at_load <= 1))
      std::abort();
    Registers registers;
    registers.fill(~std::uint64_t{0});
    if (place->data) static_cast<void>(place->data->address(registers));
  }
  return 0;
}
