#include "millrace/run/batch/input_stamp.h"

#include "millrace/video/sequence_reader.h"
#include "millrace/video/test_source.h"

#include <cstdint>
#include <vector>
#include <xxhash.h>

namespace millrace::run {
namespace {

// The total size, and instead of a time a digest of the pictures' numbers and stamps.
std::optional<FileStamp> stamp_of_pictures(const video::SequenceName& sequence) {
  std::vector<std::int64_t> all;
  FileStamp together;
  for (const std::int64_t number : video::numbers_of(sequence)) {
    const auto stamp = stamp_of(sequence.at(number));
    if (!stamp) return std::nullopt;
    together.bytes += stamp->bytes;
    all.insert(all.end(), {number, stamp->bytes, stamp->changed_ns});
  }
  if (all.empty()) return std::nullopt;
  together.changed_ns =
      static_cast<std::int64_t>(XXH3_64bits(all.data(), all.size() * sizeof(std::int64_t)) >> 1);
  return together;
}

}  // namespace

std::optional<FileStamp> stamp_of_input(const std::string& input) {
  if (input.starts_with(video::test_source_prefix)) return FileStamp{};
  if (auto stamp = stamp_of(input)) return stamp;
  const auto sequence = video::SequenceName::parse(input);
  return sequence ? stamp_of_pictures(*sequence) : std::nullopt;
}

}  // namespace millrace::run
