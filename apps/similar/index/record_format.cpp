#include "similar/index/record_format.h"

#include "similar/index/byte_buffer.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::similar {
namespace {

// Over the kind, length and payload of a record, which are not adjacent in the file.
std::uint64_t checksum(std::uint64_t offset, std::uint32_t kind, std::span<const std::byte> payload) {
  const std::uint64_t header = std::uint64_t{kind} << 32 | static_cast<std::uint32_t>(payload.size());
  const std::uint64_t seed = XXH3_64bits_withSeed(&header, sizeof header, offset);
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

}  // namespace

std::vector<std::byte> file_start(std::string_view mark, std::uint32_t version) {
  ByteWriter writer;
  writer.raw(std::as_bytes(std::span(mark)));
  writer.number(version);
  return writer.bytes();
}

std::vector<std::byte> record_bytes(std::uint64_t offset, std::uint32_t kind,
                                    std::span<const std::byte> payload) {
  ByteWriter writer;
  writer.number(kind);
  writer.number(static_cast<std::uint32_t>(payload.size()));
  writer.number(checksum(offset, kind, payload));
  writer.raw(payload);
  return writer.bytes();
}

bool has_mark(std::span<const std::byte> file, std::string_view mark) {
  return file.size() >= mark.size() &&
         std::ranges::equal(file.first(mark.size()), std::as_bytes(std::span(mark)));
}

Result<RecordReader> RecordReader::open(std::span<const std::byte> file, std::string_view mark,
                                        std::uint32_t version, std::string_view what) {
  if (!has_mark(file, mark)) return failure("no {}", what);
  if (file.size() < first_record_offset) return failure("cut short at byte {}", file.size());
  const auto found = ByteReader(file.subspan(mark_size)).number<std::uint32_t>();
  if (found != version) return failure("of version {}, and this program reads version {}", found, version);
  return RecordReader(file);
}

Result<std::optional<Record>> RecordReader::next() {
  const auto rest = file_.subspan(offset_);
  if (rest.empty()) return std::nullopt;
  ByteReader reader(rest);
  const auto kind = reader.number<std::uint32_t>();
  const auto length = reader.number<std::uint32_t>();
  const auto sum = reader.number<std::uint64_t>();
  const auto payload = reader.raw(length);
  if (reader.overrun()) return failure("cut short in the record at byte {}", offset_);
  if (sum != checksum(offset_, kind, *payload)) return failure("damaged in the record at byte {}", offset_);
  const Record record{offset_, kind, *payload};
  offset_ += record_header_size + length;
  return record;
}

}  // namespace millrace::similar
