// Fuzz target: reads arbitrary bytes as an encoded image, either directly or with correct checksums, which
// reaches the strips' decoder. An image that can be decoded must survive encoding without loss.
#include "skipline/pbm.h"
#include "skipline/skipline_file.h"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace millrace::skipline;

void decode_and_encode(const EncodedImage& encoded) {
  if (static_cast<long long>(encoded.width) * encoded.height > 1 << 20) return;
  const auto image = decode(encoded);
  if (!image) return;
  const auto again = encode(*image, {.threshold = 0}, 1, encoded.columns);
  if (!again || decode(*again) != *image) std::abort();
}

// The first six bytes are sizes and flags, the others the only strip.
void with_sound_checksums(std::span<const std::byte> input) {
  const auto number = [&](std::size_t i) { return std::to_integer<int>(input[i]); };
  EncodedImage encoded{.width = 1 + number(0) + 256 * (number(1) % 8),
                       .height = 1 + number(2),
                       .columns = number(3) % 2 == 1,
                       .parameters = {.variant = static_cast<Variant>(number(4) % 3)},
                       .strips = {{input.begin() + 6, input.end()}}};
  const auto read = read_skipline(file_of(encoded));
  if (!read) std::abort();
  decode_and_encode(*read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  if (const auto read = read_skipline(input)) decode_and_encode(*read);
  if (const auto image = read_pbm(input)) {
    if (read_pbm(write_pbm(*image)) != *image) std::abort();
  }
  if (size >= 6) with_sound_checksums(input);
  return 0;
}
