#include "dedup/archive/codec.h"
#include "dedup/chunks/dedup_testing.h"

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

class Codecs : public testing::TestWithParam<Compression> {};

TEST_P(Codecs, restore_what_they_compressed_and_never_make_it_larger) {
  Compressor compressor(GetParam());
  for (const NamedStream& stream : streams(100'000)) {
    if (stream.bytes.empty()) continue;
    const auto payload = compressor.compress(stream.bytes);
    ASSERT_TRUE(payload) << payload.error().message;
    EXPECT_LE(payload->bytes.size(), stream.bytes.size()) << stream.name;
    EXPECT_EQ(payload->method == Method::stored, payload->bytes.size() == stream.bytes.size());
    Bytes content(stream.bytes.size());
    EXPECT_TRUE(decompress(payload->method, payload->bytes, content)) << stream.name;
    EXPECT_EQ(content, stream.bytes) << stream.name;
  }
}

// Contexts are reused and must not keep state.
TEST_P(Codecs, give_the_same_payload_whatever_came_before) {
  Compressor used(GetParam());
  for (int round = 0; round < 2; ++round)
    for (const NamedStream& stream : streams(300'000)) {
      if (stream.bytes.empty()) continue;
      Compressor fresh(GetParam());
      EXPECT_EQ(used.compress(stream.bytes)->bytes, fresh.compress(stream.bytes)->bytes) << stream.name;
    }
}

TEST_P(Codecs, refuse_payloads_that_restore_another_number_of_bytes) {
  const Bytes text = text_bytes(5000, 1);
  const auto payload = Compressor(GetParam()).compress(text);
  for (const std::size_t size : {text.size() - 1, text.size() + 1}) {
    Bytes content(size);
    EXPECT_FALSE(decompress(payload->method, payload->bytes, content));
  }
  Bytes content(text.size());
  const auto cut = std::span(payload->bytes).first(payload->bytes.size() - 1);
  EXPECT_FALSE(decompress(payload->method, cut, content));
}

INSTANTIATE_TEST_SUITE_P(methods, Codecs,
                         testing::Values(Compression{Method::stored, 0}, Compression{Method::zlib, 1},
                                         Compression{Method::zlib, 6}, Compression{Method::zstd, 1},
                                         Compression{Method::zstd, 3}, Compression{Method::zstd, 6},
                                         Compression{Method::zstd, 12}),
                         [](const auto& test) {
                           return fmt::format("{}_{}", method_name(test.param.method), test.param.level);
                         });

TEST(Compression, has_levels_that_its_method_knows) {
  EXPECT_EQ(Compression::of(Method::zstd, {})->level, 3);
  EXPECT_EQ(Compression::of(Method::zlib, {})->level, 6);
  EXPECT_EQ(Compression::of(Method::zstd, 19)->level, 19);
  for (const auto& [method, level] : {std::pair(Method::zstd, 0), std::pair(Method::zstd, 20),
                                      std::pair(Method::zlib, 10), std::pair(Method::stored, 1)})
    EXPECT_EQ(Compression::of(method, level).error().kind, ErrorKind::usage);
  EXPECT_EQ(parse_method("lzma").error().kind, ErrorKind::usage);
  for (const Method method : {Method::zstd, Method::zlib, Method::stored})
    EXPECT_EQ(parse_method(method_name(method)).value(), method);
}

}  // namespace
}  // namespace millrace::dedup
