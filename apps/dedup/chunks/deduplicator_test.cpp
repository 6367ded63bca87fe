#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/deduplicator.h"

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

// Restores a stream from its segments and counts their parts.
struct Rebuilt {
  Bytes bytes;
  std::size_t fresh_bytes = 0;
  std::size_t copies = 0;
  std::size_t shortest_copy = SIZE_MAX;
  DedupCounts counts;
};

Rebuilt rebuild(const Bytes& stream, std::size_t window, std::size_t fragment_bytes = 30'000) {
  const ChunkCutter cutter(small_chunks());
  PiecewiseSource source(stream);
  Fragmenter fragmenter(source, cutter, fragment_bytes);
  Deduplicator deduplicator(window, fragmenter.most_bytes());
  Rebuilt rebuilt;
  std::vector<bool> fresh;  // for every byte
  while (auto fragment = *fragmenter.next()) {
    CutFragment parts = cut(std::move(*fragment), cutter);
    EXPECT_EQ(parts.chunks.back().end, parts.fragment.bytes.size());
    EXPECT_TRUE(digest(parts, {}));
    const Segment segment = deduplicator.divide(std::move(parts));
    EXPECT_EQ(segment.stream_offset, rebuilt.bytes.size());
    std::size_t at = 0;
    std::size_t literals = 0;
    std::size_t copies = 0;
    for (const Piece& piece : segment.pieces) {
      const auto literal = segment.fragment.bytes.subspan(at, piece.literals);
      rebuilt.bytes.insert(rebuilt.bytes.end(), literal.begin(), literal.end());
      fresh.insert(fresh.end(), literal.size(), true);
      literals += piece.literals;
      at += piece.literals + std::size_t{piece.copy};
      if (piece.copy == 0) continue;
      ++copies;
      rebuilt.shortest_copy = std::min<std::size_t>(rebuilt.shortest_copy, piece.copy);
      EXPECT_LE(piece.source + piece.copy, rebuilt.bytes.size());
      for (std::size_t i = piece.source; i < piece.source + piece.copy; ++i) {
        EXPECT_TRUE(fresh.at(i)) << "byte " << i << " is a copy itself";
        rebuilt.bytes.push_back(Bytes::value_type(rebuilt.bytes[i]));
      }
      fresh.insert(fresh.end(), piece.copy, false);
    }
    EXPECT_EQ(at, segment.fragment.bytes.size());
    EXPECT_EQ(literals, segment.literals);
    EXPECT_EQ(copies, segment.copies);
    rebuilt.fresh_bytes += literals;
    rebuilt.copies += copies;
  }
  rebuilt.counts = deduplicator.counts();
  return rebuilt;
}

TEST(Deduplicator, divides_a_stream_so_that_it_can_be_restored) {
  for (const std::size_t window : {0U, 1U << 10, 1U << 16, 1U << 20})
    for (const NamedStream& stream : streams(400'000)) {
      const Rebuilt rebuilt = rebuild(stream.bytes, window);
      EXPECT_EQ(rebuilt.bytes, stream.bytes) << stream.name << ", window " << window;
      EXPECT_EQ(rebuilt.fresh_bytes + rebuilt.counts.copied_bytes, stream.bytes.size()) << stream.name;
      EXPECT_GE(rebuilt.counts.copied_bytes, window == 0 ? rebuilt.counts.known_bytes : 0) << stream.name;
      EXPECT_GE(rebuilt.shortest_copy, least_copy) << stream.name;
    }
}

TEST(Deduplicator, finds_what_was_there_before_even_shifted) {
  const Bytes part = random_bytes(300'000, 1);
  const Rebuilt shifted = rebuild(joined({part, random_bytes(7, 2), part}), 0);
  EXPECT_GT(static_cast<double>(shifted.counts.known_bytes), 0.9 * static_cast<double>(part.size()));
  EXPECT_EQ(rebuild(part, 0).counts.known_bytes, 0U);
}

// A text with insertions every few hundred bytes, so that no chunk is repeated.
Bytes edited(Bytes text, std::size_t apart, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::size_t at = apart / 2; at < text.size(); at += apart)
    text[at] = static_cast<std::byte>(random());
  return text;
}

TEST(Deduplicator, copies_what_is_equal_in_new_chunks_as_far_back_as_the_window) {
  const Bytes part = random_bytes(200'000, 1);
  const Bytes stream = joined({part, random_bytes(100'000, 2), edited(part, 400, 3)});
  const std::size_t without = rebuild(stream, 0).fresh_bytes;
  EXPECT_GT(without, 450'000U);
  EXPECT_LT(rebuild(stream, 1 << 20).fresh_bytes, 400'000U);
  EXPECT_EQ(rebuild(stream, 1 << 16).fresh_bytes, without);  // 300'000 bytes back is out of reach
}

// Modified copies of modified copies must not form chains or ever shorter pieces.
TEST(Deduplicator, copies_of_copies_name_where_the_bytes_were_new) {
  Bytes version = random_bytes(60'000, 1);
  Bytes stream = version;
  for (std::uint32_t i = 0; i < 12; ++i) {
    version = edited(version, 3000 + 501 * i, i + 2);
    stream.insert(stream.end(), version.begin(), version.end());
  }
  const Rebuilt rebuilt = rebuild(stream, 1 << 20);
  EXPECT_EQ(rebuilt.bytes, stream);
  EXPECT_LT(rebuilt.fresh_bytes, 60'000U + 12 * 10'000U);
  EXPECT_LT(rebuilt.copies, 12 * 300U);
}

TEST(Deduplicator, makes_one_copy_of_neighbours_that_were_neighbours) {
  const Bytes part = random_bytes(25'000, 1);
  const Rebuilt rebuilt = rebuild(joined({part, part, part, part}), 1 << 20);
  EXPECT_GT(rebuilt.counts.known_chunks, 40U);
  EXPECT_LT(rebuilt.copies, 20U);
}

}  // namespace
}  // namespace millrace::dedup
