#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/deduplicator.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

namespace millrace::dedup {
namespace {

// Restores a stream from its runs, and counts what the runs are.
struct Rebuilt {
  Bytes bytes;
  std::size_t fresh_bytes = 0;
  std::vector<Bytes> records;
};

Rebuilt rebuild(const Bytes& stream, DedupCounts& counts) {
  const ChunkCutter cutter(small_chunks());
  PiecewiseSource source(stream);
  Fragmenter fragmenter(source, cutter, 30'000);
  Deduplicator deduplicator;
  Rebuilt rebuilt;
  while (auto fragment = *fragmenter.next()) {
    CutFragment parts = cut(std::move(*fragment), cutter);
    EXPECT_EQ(parts.chunks.back().end, parts.fragment.bytes.size());
    EXPECT_TRUE(digest(parts));
    for (const Run& run : deduplicator.divide(parts)) {
      Bytes bytes;
      if (const auto* fresh = std::get_if<NewRun>(&run)) {
        bytes.assign(fresh->part.bytes.begin(), fresh->part.bytes.end());
        rebuilt.fresh_bytes += bytes.size();
        rebuilt.records.push_back(bytes);
      } else {
        const auto& known = std::get<KnownRun>(run);
        const Bytes& record = rebuilt.records.at(known.record);
        EXPECT_LE(known.begin + known.length, record.size());
        const auto part = std::span(record).subspan(known.begin, known.length);
        bytes.assign(part.begin(), part.end());
        rebuilt.records.emplace_back();
      }
      EXPECT_FALSE(bytes.empty());
      rebuilt.bytes.insert(rebuilt.bytes.end(), bytes.begin(), bytes.end());
    }
  }
  counts = deduplicator.counts();
  return rebuilt;
}

TEST(Deduplicator, divides_a_stream_so_that_it_can_be_restored) {
  for (const NamedStream& stream : streams(400'000)) {
    DedupCounts counts;
    const Rebuilt rebuilt = rebuild(stream.bytes, counts);
    EXPECT_EQ(rebuilt.bytes, stream.bytes) << stream.name;
    EXPECT_EQ(rebuilt.fresh_bytes + counts.known_bytes, stream.bytes.size()) << stream.name;
  }
}

TEST(Deduplicator, finds_what_was_there_before_even_shifted) {
  const Bytes part = random_bytes(300'000, 1);
  DedupCounts counts;
  rebuild(joined({part, random_bytes(7, 2), part}), counts);
  EXPECT_GT(static_cast<double>(counts.known_bytes), 0.9 * static_cast<double>(part.size()));
  rebuild(part, counts);
  EXPECT_EQ(counts.known_bytes, 0U);
}

TEST(Deduplicator, makes_one_run_of_neighbours_that_were_neighbours) {
  const Bytes part = random_bytes(25'000, 1);
  DedupCounts counts;
  const Rebuilt rebuilt = rebuild(joined({part, part, part, part}), counts);
  EXPECT_GT(counts.known_chunks, 40U);
  EXPECT_LT(rebuilt.records.size(), 20U);
}

TEST(Sha256, is_that_of_the_standard) {
  auto sha = Sha256::create();
  ASSERT_TRUE(sha);
  for (const NamedStream& stream : streams(10'000)) {
    std::array<unsigned char, 32> expected{};
    SHA256(reinterpret_cast<const unsigned char*>(stream.bytes.data()), stream.bytes.size(), expected.data());
    const Digest digest = sha->of(stream.bytes);
    EXPECT_TRUE(std::ranges::equal(digest, std::as_bytes(std::span(expected)))) << stream.name;
  }
}

}  // namespace
}  // namespace millrace::dedup
