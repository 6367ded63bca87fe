// Fuzz target: reads arbitrary bytes as the header of an image and, if that succeeds, decodes them.
#include "similar/image/image_decoder.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::similar;
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = read_image_header(file);
  if (!header) {
    if (header.error().message.empty()) std::abort();
    return 0;
  }
  if (header->width < 1 || header->height < 1 || header->orientation < 1 || header->orientation > 8)
    std::abort();
  // Skip large images, which test only the decoding libraries.
  if (static_cast<long long>(header->width) * header->height > 1 << 16) return 0;
  const auto image = decode_image(file, *header, 16);
  if (image && image->rgb.empty()) std::abort();
  return 0;
}
