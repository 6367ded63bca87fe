// Any bytes at all are an archive or an error; what is restored from damaged ones is the beginning of what
// the sound one holds. The checks would keep a fuzzer from the code behind them, so the headers' are put
// right before.
#include "dedup/archive_format.h"
#include "dedup/dedup_testing.h"
#include "millrace/pool/serial_team.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

using namespace millrace;
using namespace millrace::dedup;

// Encodes every header anew with the fields that it has, as far as the records can be followed.
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
  put(0, encode({.largest_content = 1 + static_cast<std::uint32_t>(number(16, 4) % 100'000),
                 .average_chunk = 1024,
                 .method = Method::zstd,
                 .level = 3}));
  for (std::size_t at = ArchiveHeader::size; at < bytes.size();) {
    const auto size = record_header_size(bytes[at]);
    if (!size || *size > bytes.size() - at) break;
    const std::size_t behind = at + *size;
    switch (std::to_integer<char>(bytes[at])) {
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

Tried tried(const Bytes& archive, bool from_archive) {
  MemorySource source(archive);
  MemoryFile file(archive);
  MemoryFile output;
  pool::SerialTeam team;
  UnpackOptions options;
  (from_archive ? options.archive : options.restored) =
      from_archive ? static_cast<RandomBytes*>(&file) : &output;
  const UnpackOutcome outcome = unpack(source, output, team, options);
  if (outcome.status.has_value() && outcome.stream_bytes != output.bytes.size()) std::abort();
  return {outcome.status.has_value(), std::move(output.bytes)};
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  tried(Bytes(given.begin(), given.end()), true);
  const Bytes archive = with_right_checks(given);
  const Tried by_archive = tried(archive, true);
  const Tried by_output = tried(archive, false);
  // Both ways to resolve references restore the same as far as both go.
  const std::size_t common = std::min(by_archive.restored.size(), by_output.restored.size());
  if (!std::ranges::equal(std::span(by_archive.restored).first(common),
                          std::span(by_output.restored).first(common)))
    std::abort();
  if (by_archive.sound && !by_output.sound) std::abort();
  return 0;
}
