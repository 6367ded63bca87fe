// ChunkDigest: the digest by which chunks count as equal.
#pragma once

#include "millrace/base/error/result.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;

namespace millrace::dedup {

using Digest = std::array<std::byte, 16>;

// GMAC (NIST SP 800-38D) as a universal hash, not for signing. The key is drawn for each run; neither it nor
// any digest leaves the run. For two different chunks of at most 1 MiB, even chosen by an adversary, one key
// in 2^111 gives equal digests. Without the key an adversary can only guess. It takes a fifth of the time of
// SHA-256, which must be secure without a secret.
//
// Used by one thread at a time.
class ChunkDigest {
 public:
  using Key = std::array<std::byte, 16>;
  // Failure if the system provides no random bytes.
  [[nodiscard]] static Result<Key> new_key();
  // Failure if the OpenSSL library lacks AES-128-GCM.
  [[nodiscard]] static Result<ChunkDigest> create(const Key& key);

  [[nodiscard]] Digest of(std::span<const std::byte> bytes);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  ChunkDigest() = default;

  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
};

}  // namespace millrace::dedup
