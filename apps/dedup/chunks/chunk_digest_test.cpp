#include "dedup/chunks/chunk_digest.h"
#include "dedup/chunks/dedup_testing.h"

#include <set>

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

namespace millrace::dedup {
namespace {

ChunkDigest::Key some_key(int number) {
  ChunkDigest::Key key{};
  key.front() = static_cast<std::byte>(number);
  return key;
}

// GMAC as computed by OpenSSL itself.
Digest gmac(const ChunkDigest::Key& key, const Bytes& bytes) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "GMAC", nullptr),
                                                              EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(mac.get()),
                                                                          EVP_MAC_CTX_free);
  char cipher[] = "AES-128-GCM";
  std::array<unsigned char, 12> vector{};
  const std::array<OSSL_PARAM, 3> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, vector.data(), vector.size()),
      OSSL_PARAM_construct_end()};
  Digest digest{};
  std::size_t size = 0;
  EXPECT_EQ(EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size(),
                         parameters.data()),
            1);
  EXPECT_EQ(EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()),
            1);
  EXPECT_EQ(
      EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(digest.data()), &size, digest.size()), 1);
  return digest;
}

TEST(ChunkDigest, is_gmac_of_each_chunk_whatever_was_digested_before) {
  auto digest = ChunkDigest::create(some_key(1));
  ASSERT_TRUE(digest);
  for (const NamedStream& stream : streams(10'000))
    EXPECT_EQ(digest->of(stream.bytes), gmac(some_key(1), stream.bytes)) << stream.name;
}

TEST(ChunkDigest, differs_where_a_bit_or_the_length_or_the_key_does) {
  auto digest = ChunkDigest::create(some_key(1));
  auto other = ChunkDigest::create(some_key(2));
  ASSERT_TRUE(digest && other);
  Bytes bytes = random_bytes(1000, 1);
  std::set<Digest> seen{digest->of(bytes), other->of(bytes)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    seen.insert(digest->of(bytes));
    bytes[i] ^= std::byte{1};
  }
  for (std::size_t zeros = 0; zeros < 40; ++zeros)
    seen.insert(digest->of(Bytes(zeros, std::byte{0})));
  EXPECT_EQ(seen.size(), 2 + bytes.size() + 40);
}

TEST(ChunkDigest, has_another_key_in_each_run) {
  EXPECT_NE(*ChunkDigest::new_key(), *ChunkDigest::new_key());
}

}  // namespace
}  // namespace millrace::dedup
