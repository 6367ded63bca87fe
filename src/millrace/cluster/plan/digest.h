// Digests of data that travels between machines. They detect accidents, not attacks.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

namespace millrace::cluster {

// 32 hexadecimal digits.
[[nodiscard]] std::string digest_of_text(std::string_view text);

struct FileDigest {
  std::uint64_t bytes = 0;
  std::string digest;

  bool operator==(const FileDigest&) const = default;
};

// Digests all bytes of a regular file.
[[nodiscard]] Result<FileDigest> digest_of_file(const std::string& file, const std::stop_token& stop = {});
// Digests the beginning, the end and some samples between: fast, and enough to tell two videos apart.
[[nodiscard]] Result<FileDigest> sampled_digest_of_file(const std::string& file);

}  // namespace millrace::cluster
