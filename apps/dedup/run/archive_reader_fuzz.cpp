// Fuzz target: any bytes are either an archive or give an error. What is restored from a damaged archive is
// the beginning of the intact one's stream. Checksums would keep the fuzzer from the code behind them. So
// header checks are corrected first, and the restorable records are completed to a whole archive.
#include "dedup/archive/archive_format.h"
#include "dedup/archive/archive_reader.h"
#include "dedup/archive/archive_writer.h"
#include "dedup/archive/recipe.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/stream_hash.h"
#include "dedup/run/pack.h"
#include "dedup/run/restorer.h"
#include "dedup/run/unpack.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace millrace;
using namespace millrace::dedup;

// Size of the content of a recipe, as far as it can be read.
std::uint32_t content_of(std::span<const std::byte> recipe, std::uint64_t stream_offset,
                         std::uint32_t literals) {
  RecipeReader reader(recipe,
                      {.stream_offset = stream_offset, .content_size = 100'000, .literal_size = literals});
  std::uint32_t content = 0;
  while (!reader.at_end()) {
    const auto piece = reader.next();
    if (!piece) break;
    content += piece->literals + piece->copy;
  }
  return content;
}

// Re-encodes every header with the same fields and a correct check, as far as the records can be followed.
Bytes with_right_checks(std::span<const std::byte> data) {
  Bytes bytes(data.begin(), data.end());
  const auto put = [&](std::size_t at, const auto& encoded) {
    std::ranges::copy(encoded, bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    return value;
  };
  if (bytes.size() < ArchiveHeader::size) return bytes;
  put(0, encode({.version = static_cast<std::uint16_t>(oldest_version + number(8, 2) % archive_version),
                 .largest_content = 1 + static_cast<std::uint32_t>(number(16, 4) % 100'000),
                 .average_chunk = 1024,
                 .method = Method::zstd,
                 .level = 3}));
  std::uint64_t stream_size = 0;
  for (std::size_t at = ArchiveHeader::size; at < bytes.size();) {
    const auto size = record_header_size(bytes[at]);
    if (!size || *size > bytes.size() - at) break;
    const std::size_t behind = at + *size;
    switch (std::to_integer<char>(bytes[at])) {
    case 'S': {
      SegmentHeader header{
          .literal_method = static_cast<Method>(std::to_integer<std::uint8_t>(bytes[at + 1]) % 3),
          .recipe_method = static_cast<Method>(std::to_integer<std::uint8_t>(bytes[at + 2]) % 3),
          .content_size = static_cast<std::uint32_t>(number(at + 4, 4)),
          .literal_size = static_cast<std::uint32_t>(number(at + 8, 4)),
          .recipe_size = static_cast<std::uint32_t>(number(at + 20, 4)),
          .copies = static_cast<std::uint32_t>(number(at + 28, 4))};
      const std::uint64_t room = bytes.size() - behind;
      header.recipe_payload = static_cast<std::uint32_t>(std::min(number(at + 24, 4), room));
      header.literal_payload =
          static_cast<std::uint32_t>(std::min(number(at + 16, 4), room - header.recipe_payload));
      const auto payload = std::span(bytes).subspan(behind, header.payload_size());
      if (header.literal_method == Method::stored) header.literal_size = header.literal_payload;
      if (header.recipe_method == Method::stored) {
        header.recipe_size = header.recipe_payload;
        header.content_size = content_of(payload.first(header.recipe_size), stream_size, header.literal_size);
      }
      stream_size += header.content_size;
      header.payload_check = check_of(payload);
      put(at, encode(header, at));
      at = behind + payload.size();
      break;
    }
    case 'D': {
      const auto method = static_cast<Method>(std::to_integer<std::uint8_t>(bytes[at + 1]) % 3);
      const auto payload =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(number(at + 8, 4), bytes.size() - behind));
      const auto content = method == Method::stored ? payload : static_cast<std::uint32_t>(number(at + 4, 4));
      put(at,
          encode(DataHeader{method, content, payload, check_of(std::span(bytes).subspan(behind, payload))},
                 at));
      at = behind + payload;
      break;
    }
    case 'R':
      put(at, encode(ReferenceHeader{static_cast<std::uint32_t>(number(at + 4, 4)),
                                     static_cast<std::uint32_t>(number(at + 8, 4)), number(at + 16, 8),
                                     number(at + 24, 8)},
                     at));
      at = behind;
      break;
    case 'I': {
      const std::uint64_t entries =
          std::min<std::uint64_t>(number(at + 16, 8), (bytes.size() - behind) / IndexEntry::size);
      const std::size_t length = entries * IndexEntry::size;
      put(at, encode(IndexHeader{entries, check_of(std::span(bytes).subspan(behind, length))}, at));
      at = behind + length;
      break;
    }
    default:
      put(at, encode(EndHeader{number(at + 16, 8),
                               number(at + 24, 8),
                               number(at + 32, 8),
                               number(at + 40, 8),
                               number(at + 4, 8),
                               {number(at + 48, 8), number(at + 56, 8)}},
                     at));
      at = behind;
    }
  }
  return bytes;
}

struct Tried {
  bool sound;
  Bytes restored;
};

// Like unpack(), but on this thread, because threads would take most of the time. Calls `on_part` with each
// restored record. Returns false at the first that cannot be restored, or if the end is wrong. `wait`: lets
// records wait for old copies.
template <class OnPart>
bool restored(const Bytes& archive, bool from_archive, bool wait, MemoryFile& output, const OnPart& on_part) {
  MemorySource source(archive);
  MemoryFile file(archive);
  constexpr std::size_t read_ahead = 50;  // so that records begin and end anywhere in the buffer
  ArchiveReader reader(source, {}, read_ahead);
  const auto header = reader.begin();
  if (!header) return false;
  // Caches few segments, so that some copies come from them and others from records read again.
  Restorer restorer(source.name(), header->largest_content, from_archive ? nullptr : &output, &file, output,
                    2 * std::size_t{header->largest_content});
  for (;;) {
    const auto record = reader.next();
    if (!record) return false;
    if (!*record) break;
    const auto part = restorer.restore(**record);
    if (!part || !restorer.write(*part)) return false;
    if (!wait && !restorer.finish()) return false;
    on_part(**record, reader.archive_size());
  }
  if (!restorer.finish()) return false;
  if (reader.archive_size() != archive.size() || restorer.stream_size() != output.bytes.size()) std::abort();
  return restorer.check(reader.end()).has_value();
}

Tried tried(const Bytes& archive, bool from_archive, bool wait = false) {
  MemoryFile output;
  const bool sound = restored(archive, from_archive, wait, output, [](const auto&...) {});
  return {sound, std::move(output.bytes)};
}

// The records up to the first that cannot be restored, followed by an index and an end.
Bytes completed(const Bytes& archive) {
  MemoryFile output;
  std::vector<IndexEntry> index;
  std::uint64_t data_records = 0;
  std::uint64_t end = ArchiveHeader::size;
  std::uint64_t copies = 0;
  std::uint64_t literals = 0;
  // From the archive alone, because the written stream allows more to be restored.
  restored(archive, true, false, output, [&](const StoredRecord& record, std::uint64_t behind) {
    index.push_back({record.stream_offset, record.archive_offset});
    if (const auto* segment = std::get_if<SegmentHeader>(&record.header)) {
      copies += segment->copies;
      literals += segment->literal_size;
    }
    if (std::holds_alternative<ReferenceHeader>(record.header))
      ++copies;
    else
      ++data_records;
    end = behind;
  });
  Bytes whole(archive.begin(), archive.begin() + static_cast<std::ptrdiff_t>(end));
  const auto append = [&whole](const auto& bytes) { whole.insert(whole.end(), bytes.begin(), bytes.end()); };
  const auto entries = encode(index);
  append(encode(IndexHeader{index.size(), check_of(entries)}, end));
  append(entries);
  StreamHash hash;
  hash.add(output.bytes);
  append(encode(EndHeader{end, output.bytes.size(), data_records, copies, literals, hash.value()},
                whole.size()));
  return whole;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  tried(Bytes(given.begin(), given.end()), true);
  if (given.size() < ArchiveHeader::size) return 0;
  const Bytes archive = with_right_checks(given);
  const Tried part = tried(archive, true);
  const Bytes whole = completed(archive);
  const Tried by_archive = tried(whole, true);
  const Tried by_output = tried(whole, false);
  // Both ways to resolve references must give the same result.
  if (!by_archive.sound || !by_output.sound || by_archive.restored != by_output.restored) std::abort();
  if (part.restored != by_output.restored) std::abort();
  const Tried waited = tried(whole, true, true);
  if (!waited.sound || waited.restored != by_output.restored) std::abort();
  return 0;
}
