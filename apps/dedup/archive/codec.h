// Compression of the content of data records.
#pragma once

#include "dedup/archive/archive_format.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::dedup {

// "zstd", "zlib", "none"; usage error that lists them.
[[nodiscard]] Result<Method> parse_method(std::string_view name);
[[nodiscard]] std::string_view method_name(Method method);

// A method and how hard it tries.
struct Compression {
  Method method = Method::zstd;
  int level = 3;

  // `level`: 1 to 19 for zstd (default 3), 1 to 9 for zlib (default 6), none for none; else a usage error.
  [[nodiscard]] static Result<Compression> of(Method method, std::optional<int> level);
};

struct Payload {
  Method method = Method::stored;
  std::vector<std::byte> bytes;
};

// Thread-safe: keeps one context for each call under way, and uses it again.
class Compressor {
 public:
  explicit Compressor(const Compression& compression);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Stored where compression makes it no smaller. The same content gives the same payload, whatever was
  // compressed before. Failure when the library fails (out of memory).
  [[nodiscard]] Result<Payload> compress(std::span<const std::byte> content);

 private:
  class Contexts;
  std::unique_ptr<Contexts> contexts_;
};

// Fills `content` from a payload. Failure if the payload does not restore exactly content.size() bytes.
[[nodiscard]] Status decompress(Method method, std::span<const std::byte> payload,
                                std::span<std::byte> content);
// Fills both from the payload of a segment, of its size; they have the sizes that the header says.
[[nodiscard]] Status restore_segment(const SegmentHeader& header, std::span<const std::byte> payload,
                                     std::span<std::byte> recipe, std::span<std::byte> literals);

}  // namespace millrace::dedup
