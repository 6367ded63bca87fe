// Any bytes give frames or an error. Memory stays bounded, whatever sizes a header claims.
#include "millrace/video/y4m/y4m_reader.h"

#include <cstdint>
#include <cstdlib>
#include <span>

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::video;
  auto source = std::make_unique<millrace::MemorySource>(std::as_bytes(std::span(data, size)));
  const auto reader = open_y4m_reader(std::move(source), {.max_frame_bytes = std::size_t{64} << 20});
  if (!reader) return 0;
  std::uint64_t delivered = 0;
  for (std::int64_t index = 0;; ++index) {
    const auto frame = (*reader)->next();
    if (!frame || !*frame) return 0;
    delivered += packed_bytes((*frame)->format());
    if ((*frame)->index != index || delivered > size || !within_bit_depth(**frame)) std::abort();
  }
}
