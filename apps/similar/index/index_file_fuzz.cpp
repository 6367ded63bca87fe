// Fuzz target: reads arbitrary bytes as an index, either directly or as payloads of valid records, which
// reaches the code behind the checksums. An index that can be read must be searchable and writable.
#include "similar/index/index_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace millrace::similar;

// Each record: a byte for its kind, two for its length, then the payload.
std::vector<std::byte> framed(std::span<const std::byte> input) {
  std::vector<std::byte> file = file_start(index_mark, index_version);
  while (input.size() >= 3) {
    const auto kind = std::to_integer<std::uint32_t>(input[0]) % 5;
    const auto length = std::to_integer<std::size_t>(input[1]) | std::to_integer<std::size_t>(input[2]) << 8;
    input = input.subspan(3);
    const auto payload = input.first(std::min(length, input.size()));
    input = input.subspan(payload.size());
    const auto record = record_bytes(file.size(), kind, payload);
    file.insert(file.end(), record.begin(), record.end());
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  const std::vector<std::byte> file =
      data[0] % 2 == 0 ? framed(input) : std::vector<std::byte>(input.begin(), input.end());
  const auto index = index_from(file);
  if (!index) {
    if (index.error().message.empty()) std::abort();
    return 0;
  }
  if (!index_from(index_bytes(*index))) std::abort();
  if (index->images().empty()) return 0;
  const auto& query = index->images().front().regions;
  const auto candidates = index->candidates(query, 20);
  if (index->rank(query, candidates, 3).size() > candidates.size()) std::abort();
  return 0;
}
