#include "dedup/chunks/chunk_digest.h"

#include "millrace/base/error/system_reason.h"

#include <cerrno>
#include <memory>

#include <openssl/evp.h>
#include <sys/random.h>

namespace millrace::dedup {
namespace {

// A constant vector is safe here because the key is secret and no digest is disclosed.
constexpr std::array<unsigned char, 12> vector_of_all{};

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's byte
const unsigned char* openssl_bytes(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

}  // namespace

void ChunkDigest::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

Result<ChunkDigest::Key> ChunkDigest::new_key() {
  Key key;
  ssize_t drawn = -1;
  do
    drawn = getrandom(key.data(), key.size(), 0);
  while (drawn < 0 && errno == EINTR);
  if (drawn != static_cast<ssize_t>(key.size()))
    return failure("the system gives no random bytes: {}", system_reason(errno));
  return key;
}

Result<ChunkDigest> ChunkDigest::create(const Key& key) {
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> algorithm(
      EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr), EVP_CIPHER_free);
  ChunkDigest made;
  made.context_.reset(EVP_CIPHER_CTX_new());
  if (!algorithm || !made.context_ ||
      EVP_EncryptInit_ex2(made.context_.get(), algorithm.get(), openssl_bytes(key.data()),
                          vector_of_all.data(), nullptr) != 1)
    return failure("the OpenSSL library offers no AES-128-GCM; check its configuration");
  return made;
}

Digest ChunkDigest::of(std::span<const std::byte> bytes) {
  Digest digest;
  int written = 0;
  // Nothing is encrypted, so the tag covers the bytes alone. These calls fail for bad algorithms and
  // arguments, never for data. create() has tested the former, and chunk lengths fit an int.
  EVP_EncryptInit_ex2(context_.get(), nullptr, nullptr, vector_of_all.data(), nullptr);
  EVP_EncryptUpdate(context_.get(), nullptr, &written, openssl_bytes(bytes.data()),
                    static_cast<int>(bytes.size()));
  EVP_EncryptFinal_ex(context_.get(), nullptr, &written);
  EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(digest.size()), digest.data());
  return digest;
}

}  // namespace millrace::dedup
