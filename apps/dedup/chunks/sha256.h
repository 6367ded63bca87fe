// Sha256: the digest by which chunks are taken for equal.
#pragma once

#include "millrace/base/result.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>

struct evp_md_ctx_st;
struct evp_md_st;

namespace millrace::dedup {

using Digest = std::array<std::byte, 32>;

// OpenSSL's SHA-256, which uses the processor's instructions for it where there are some. Used by one thread
// at a time.
class Sha256 {
 public:
  // Failure when the OpenSSL library offers no SHA-256.
  [[nodiscard]] static Result<Sha256> create();

  [[nodiscard]] Digest of(std::span<const std::byte> bytes);

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
    void operator()(evp_md_st* algorithm) const;
  };
  Sha256() = default;

  std::unique_ptr<evp_md_st, Free> algorithm_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace millrace::dedup
