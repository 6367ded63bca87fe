#include "dedup/chunks/sha256.h"

#include <openssl/evp.h>

namespace millrace::dedup {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }
void Sha256::Free::operator()(evp_md_st* algorithm) const { EVP_MD_free(algorithm); }

Result<Sha256> Sha256::create() {
  Sha256 made;
  made.algorithm_.reset(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  made.context_.reset(EVP_MD_CTX_new());
  if (!made.algorithm_ || !made.context_ ||
      EVP_DigestInit_ex2(made.context_.get(), made.algorithm_.get(), nullptr) != 1)
    return failure("the OpenSSL library offers no SHA-256; check its configuration");
  return made;
}

Digest Sha256::of(std::span<const std::byte> bytes) {
  Digest digest;
  // These fail for algorithms and arguments, never for data; create() has tried both.
  EVP_DigestInit_ex2(context_.get(), nullptr, nullptr);
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's byte
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

}  // namespace millrace::dedup
