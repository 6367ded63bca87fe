#include "millrace/cluster/plan/digest.h"

#include "millrace/base/file/input_file.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>
#include <xxhash.h>

namespace millrace::cluster {
namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

class Digest {
 public:
  Digest() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

Result<std::unique_ptr<InputFile>> open_regular(const std::string& name) {
  auto file = InputFile::open(name, {.missing = "is it on this machine?", .directory = "give a file in it"});
  if (file && !(*file)->is_regular()) return usage_error("{}: is a pipe or device, not a file", name);
  return file;
}

}  // namespace

std::string digest_of_text(std::string_view text) {
  Digest digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.text();
}

Result<FileDigest> digest_of_file(const std::string& name, const std::stop_token& stop) {
  const auto file = open_regular(name);
  if (!file) return std::unexpected(file.error());
  Digest digest;
  FileDigest all;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (true) {
    if (stop.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
    const auto count = (*file)->read(buffer);
    if (!count) return std::unexpected(count.error());
    if (*count == 0) break;
    digest.add(std::span(buffer).first(*count));
    all.bytes += *count;
  }
  all.digest = digest.text();
  return all;
}

Result<FileDigest> sampled_digest_of_file(const std::string& name) {
  constexpr std::uint64_t samples = 8;
  constexpr std::uint64_t sample_bytes = 64 << 10;
  const auto file = open_regular(name);
  if (!file) return std::unexpected(file.error());
  const std::uint64_t size = (*file)->size().value_or(0);
  Digest digest;
  std::vector<std::byte> buffer(sample_bytes);
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t length = std::min(sample_bytes, size);
    const std::uint64_t at = (size - length) / (samples - 1) * i;
    const std::span<std::byte> sample = std::span(buffer).first(length);
    if (Status read = (*file)->read_at(i + 1 == samples ? size - length : at, sample); !read)
      return std::unexpected(read.error());
    digest.add(sample);
  }
  return FileDigest{.bytes = size, .digest = digest.text()};
}

}  // namespace millrace::cluster
