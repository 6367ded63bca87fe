// Compresses the content of data records.
#pragma once

#include "dedup/archive/archive_format.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::dedup {

// "zstd", "zlib", "none"; a usage error lists them.
[[nodiscard]] Result<Method> parse_method(std::string_view name);
[[nodiscard]] std::string_view method_name(Method method);

// A method and its level.
struct Compression {
  Method method = Method::zstd;
  int level = 3;

  // `level`: 1 to 19 for zstd (default 3), 1 to 9 for zlib (default 6), not allowed for none; else a usage
  // error.
  [[nodiscard]] static Result<Compression> of(Method method, std::optional<int> level);
};

struct Payload {
  Method method = Method::stored;
  std::vector<std::byte> bytes;
};

// Thread-safe: each concurrent call has a context of its own, which is reused.
class Compressor {
 public:
  explicit Compressor(const Compression& compression);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Stores the content if compression does not make it smaller. Equal content gives equal payloads, whatever
  // was compressed before. Failure if the library fails (out of memory).
  [[nodiscard]] Result<Payload> compress(std::span<const std::byte> content);

 private:
  class Contexts;
  std::unique_ptr<Contexts> contexts_;
};

// Fills `content` from a payload. Failure if the payload does not restore exactly content.size() bytes.
[[nodiscard]] Status decompress(Method method, std::span<const std::byte> payload,
                                std::span<std::byte> content);
// Fills both from a segment's payload, whose size must match the header. Both have the sizes given in the
// header.
[[nodiscard]] Status restore_segment(const SegmentHeader& header, std::span<const std::byte> payload,
                                     std::span<std::byte> recipe, std::span<std::byte> literals);

}  // namespace millrace::dedup
