#include "dedup/archive/archive_format.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t largest = 100'000;

std::vector<RecordHeader> some_headers(std::mt19937_64& random) {
  return {
      DataHeader{Method::stored, 77, 77, random()},
      DataHeader{Method::zstd, largest, 1 + static_cast<std::uint32_t>(random() % (largest - 1)), random()},
      DataHeader{Method::zlib, 2, 1, random()},
      ReferenceHeader{1 + static_cast<std::uint32_t>(random() % 1000),
                      static_cast<std::uint32_t>(random() % 1000), ArchiveHeader::size + random() % 1000,
                      random()},
      IndexHeader{random(), random()},
      EndHeader{random(), random(), random(), random(), {random(), random()}}};
}

Bytes encoded(const RecordHeader& header, std::uint64_t offset) {
  return std::visit(
      [&](const auto& record) {
        const auto bytes = encode(record, offset);
        return Bytes(bytes.begin(), bytes.end());
      },
      header);
}

TEST(ArchiveFormat, decodes_what_it_encoded) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round)
    for (const RecordHeader& header : some_headers(random)) {
      const std::uint64_t offset = 5000 + random() % (std::uint64_t{1} << 50);
      const Bytes bytes = encoded(header, offset);
      ASSERT_EQ(record_header_size(bytes.front()).value(), bytes.size());
      const auto decoded = decode_record_header(bytes, offset, largest);
      ASSERT_TRUE(decoded) << decoded.error().message;
      EXPECT_EQ(*decoded, header);
    }
}

TEST(ArchiveFormat, finds_every_altered_bit_and_every_moved_header) {
  std::mt19937_64 random(2);
  for (const RecordHeader& header : some_headers(random)) {
    const std::uint64_t offset = 5000;
    const Bytes bytes = encoded(header, offset);
    for (std::size_t bit = 8; bit < bytes.size() * 8; ++bit) {  // the first byte says how long it is
      Bytes altered = bytes;
      altered[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      EXPECT_FALSE(decode_record_header(altered, offset, largest)) << bit;
    }
    EXPECT_FALSE(decode_record_header(bytes, offset + 24, largest));
  }
}

TEST(ArchiveFormat, refuses_sizes_that_contradict_each_other) {
  const auto refused = [](const RecordHeader& header) {
    return !decode_record_header(encoded(header, 5000), 5000, largest);
  };
  EXPECT_TRUE(refused(DataHeader{Method::stored, 0, 0, 0}));
  EXPECT_TRUE(refused(DataHeader{Method::stored, 5, 4, 0}));
  EXPECT_TRUE(refused(DataHeader{Method::zstd, 5, 5, 0}));
  EXPECT_TRUE(refused(DataHeader{Method::zstd, 5, 0, 0}));
  EXPECT_TRUE(refused(DataHeader{Method::stored, largest + 1, largest + 1, 0}));
  EXPECT_TRUE(refused(DataHeader{static_cast<Method>(9), 5, 4, 0}));
  EXPECT_TRUE(refused(ReferenceHeader{0, 0, 32, 0}));
  EXPECT_TRUE(refused(ReferenceHeader{1, largest, 32, 0}));
  EXPECT_TRUE(refused(ReferenceHeader{1, 0, 5000, 0}));
  EXPECT_TRUE(refused(ReferenceHeader{1, 0, 31, 0}));
}

TEST(ArchiveFormat, knows_its_archives_by_their_first_bytes) {
  const ArchiveHeader header{
      .largest_content = 77, .average_chunk = 1024, .method = Method::zlib, .level = 9};
  const auto bytes = encode(header);
  EXPECT_EQ(decode_archive_header(bytes).value(), header);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto altered = bytes;
    altered[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(decode_archive_header(altered)) << bit;
  }
  auto next_version = bytes;
  next_version[8] = std::byte{2};
  EXPECT_NE(decode_archive_header(next_version).error().message.find("version 2"), std::string::npos);
  EXPECT_FALSE(decode_archive_header(encode({.largest_content = content_limit + 1})));
}

}  // namespace
}  // namespace millrace::dedup
