// ChunkDigest: by what chunks are taken for equal.
#pragma once

#include "millrace/base/result.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;

namespace millrace::dedup {

using Digest = std::array<std::byte, 16>;

// GMAC (NIST SP 800-38D) under a key that is drawn for each run and never leaves it, nor does any digest: not
// for signing, but as a universal hash. Of two chunks that differ, of 1 MiB at most and chosen by whomever,
// one key in 2^111 makes them equal; who cannot see the key can do no better than to guess. That takes a
// fifth of the time of SHA-256, which has to hold where everybody knows how it computes.
//
// Used by one thread at a time.
class ChunkDigest {
 public:
  using Key = std::array<std::byte, 16>;
  // Failure when the system gives no random bytes.
  [[nodiscard]] static Result<Key> new_key();
  // Failure when the OpenSSL library offers no AES-128-GCM.
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
