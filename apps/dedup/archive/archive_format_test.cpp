#include "dedup/archive/archive_format.h"
#include "dedup/archive/recipe.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t largest = 100'000;

std::vector<RecordHeader> some_headers(std::mt19937_64& random) {
  return {
      SegmentHeader{Method::stored, Method::stored, 77, 77, 77, 3, 3, 0, random()},
      SegmentHeader{Method::zstd, Method::zlib, largest, 900, 1, recipe_limit(largest), 2, 9, random()},
      SegmentHeader{Method::stored, Method::stored, 60, 0, 0, 5, 5, 1, random()},
      DataHeader{Method::stored, 77, 77, random()},
      DataHeader{Method::zstd, largest, 1 + static_cast<std::uint32_t>(random() % (largest - 1)), random()},
      DataHeader{Method::zlib, 2, 1, random()},
      ReferenceHeader{1 + static_cast<std::uint32_t>(random() % 1000),
                      static_cast<std::uint32_t>(random() % 1000), ArchiveHeader::size + random() % 1000,
                      random()},
      IndexHeader{random(), random()},
      EndHeader{random(), random(), random(), random(), random(), {random(), random()}}};
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
    for (std::size_t bit = 8; bit < bytes.size() * 8; ++bit) {  // the first byte determines the length
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
  const SegmentHeader sound{Method::zstd, Method::zstd, 800, 500, 100, 200, 100, 3, 0};
  EXPECT_FALSE(refused(sound));
  const auto refused_with = [&](std::uint32_t SegmentHeader::* field, std::uint32_t value) {
    SegmentHeader header = sound;
    header.*field = value;
    return refused(header);
  };
  EXPECT_TRUE(refused_with(&SegmentHeader::content_size, 0));
  EXPECT_TRUE(refused_with(&SegmentHeader::content_size, largest + 1));
  EXPECT_TRUE(refused_with(&SegmentHeader::content_size, 499));
  EXPECT_TRUE(refused_with(&SegmentHeader::literal_payload, 500));
  EXPECT_TRUE(refused_with(&SegmentHeader::literal_payload, 0));
  EXPECT_TRUE(refused_with(&SegmentHeader::recipe_size, 0));
  EXPECT_TRUE(refused_with(&SegmentHeader::recipe_size, recipe_limit(800) + 1));
  EXPECT_TRUE(refused_with(&SegmentHeader::recipe_payload, 0));
  EXPECT_TRUE(refused_with(&SegmentHeader::recipe_payload, 200));
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
  ArchiveHeader older = header;
  older.version = 1;
  EXPECT_EQ(decode_archive_header(encode(older)).value(), older);
  for (const std::uint16_t unknown : {0, 3, 77}) {
    older.version = unknown;
    EXPECT_NE(decode_archive_header(encode(older)).error().message.find(fmt::format("version {}", unknown)),
              std::string::npos);
  }
  EXPECT_FALSE(decode_archive_header(encode({.largest_content = content_limit + 1})));
}

TEST(ArchiveFormat, has_its_own_records_in_each_version) {
  EXPECT_TRUE(belongs_to(SegmentHeader{}, 2));
  EXPECT_FALSE(belongs_to(SegmentHeader{}, 1));
  for (const RecordHeader& header : {RecordHeader(DataHeader{}), RecordHeader(ReferenceHeader{})}) {
    EXPECT_TRUE(belongs_to(header, 1));
    EXPECT_FALSE(belongs_to(header, 2));
  }
  EXPECT_TRUE(belongs_to(IndexHeader{}, 1));
  EXPECT_TRUE(belongs_to(EndHeader{}, 2));
}

Result<std::vector<Piece>> read_recipe(std::span<const std::byte> recipe, const RecipeBounds& bounds) {
  RecipeReader reader(recipe, bounds);
  std::vector<Piece> pieces;
  while (!reader.at_end()) {
    const auto piece = reader.next();
    if (!piece) return std::unexpected(piece.error());
    pieces.push_back(*piece);
  }
  if (Status sums = reader.check_sums(); !sums) return std::unexpected(sums.error());
  return pieces;
}

TEST(Recipe, is_read_as_it_was_written_and_within_its_limit) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    RecipeBounds bounds{.stream_offset = random() % (std::uint64_t{1} << (10 + random() % 40))};
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < 1 + random() % 40; ++i) {
      Piece piece{.literals = static_cast<std::uint32_t>(random() % (1U << random() % 16)),
                  .copy = least_copy + static_cast<std::uint32_t>(random() % (1U << random() % 16))};
      const std::uint64_t here = bounds.stream_offset + bounds.content_size + piece.literals;
      if (here < piece.copy) piece = {.literals = piece.literals + 1};
      if (piece.copy > 0) piece.source = random() % (here - piece.copy + 1);
      pieces.push_back(piece);
      bounds.content_size += piece.literals + piece.copy;
      bounds.literal_size += piece.literals;
    }
    const Bytes recipe = encode_recipe(pieces, bounds.stream_offset);
    EXPECT_LE(recipe.size(), recipe_limit(bounds.content_size));
    const auto read = read_recipe(recipe, bounds);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, pieces);
    // It is refused if its totals are wrong or it is truncated.
    for (const int wrong : {-1, 1}) {
      RecipeBounds other = bounds;
      other.content_size += static_cast<std::uint32_t>(wrong);
      EXPECT_FALSE(read_recipe(recipe, other));
      other = bounds;
      other.literal_size += static_cast<std::uint32_t>(wrong);
      EXPECT_FALSE(read_recipe(recipe, other));
    }
    EXPECT_FALSE(read_recipe(std::span(recipe).first(recipe.size() - 1), bounds));
  }
}

TEST(Recipe, is_refused_with_copies_of_what_is_not_before_them) {
  const RecipeBounds bounds{.stream_offset = 1000, .content_size = 100, .literal_size = 50};
  const auto refused = [&](const Piece& piece) {
    return !read_recipe(encode_recipe(std::array{piece}, bounds.stream_offset), bounds);
  };
  EXPECT_FALSE(refused({50, 50, 1000}));
  EXPECT_FALSE(refused({50, 50, 0}));
  EXPECT_TRUE(refused({50, 50, 1001}));
  EXPECT_TRUE(refused({50, 50, 5000}));
  EXPECT_TRUE(refused({50, 50, ~std::uint64_t{0} - 10}));
  EXPECT_TRUE(refused({50, 0, 0}));
  EXPECT_FALSE(read_recipe(Bytes(3), bounds));                    // empty literals and copies
  EXPECT_FALSE(read_recipe(Bytes(20, std::byte{0xff}), bounds));  // unterminated numbers
}

}  // namespace
}  // namespace millrace::dedup
