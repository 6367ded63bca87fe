#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/fragmenter.h"

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

constexpr std::size_t least = 20'000;

std::vector<Bytes> fragments_of(ByteSource& source, const ChunkCutter& cutter) {
  Fragmenter fragmenter(source, cutter, least);
  std::vector<Bytes> parts;
  StreamHash hash;
  std::uint64_t size = 0;
  for (;;) {
    const auto fragment = fragmenter.next();
    if (!fragment || !*fragment) break;
    const auto bytes = (*fragment)->bytes;
    EXPECT_FALSE(bytes.empty());
    EXPECT_LE(bytes.size(), fragmenter.most_bytes());
    parts.emplace_back(bytes.begin(), bytes.end());
    hash.add(bytes);
    size += bytes.size();
  }
  EXPECT_EQ(fragmenter.stream_check(), hash.value());
  EXPECT_EQ(fragmenter.stream_size(), size);
  return parts;
}

TEST(Fragmenter, divides_alike_however_the_bytes_come_in) {
  const ChunkCutter cutter(small_chunks());
  for (const NamedStream& stream : streams(200'000)) {
    PiecewiseSource whole(stream.bytes);
    PiecewiseSource pieces(stream.bytes, 700);
    const std::vector<Bytes> parts = fragments_of(whole, cutter);
    EXPECT_EQ(parts, fragments_of(pieces, cutter)) << stream.name;
    Bytes all;
    for (const Bytes& part : parts) {
      if (&part != &parts.back()) {
        EXPECT_GE(part.size(), least);
      }
      all.insert(all.end(), part.begin(), part.end());
    }
    EXPECT_EQ(all, stream.bytes) << stream.name;
  }
}

TEST(Fragmenter, ends_fragments_where_the_content_has_a_mark) {
  const ChunkCutter cutter(small_chunks());
  const Bytes data = random_bytes(400'000, 1);
  PiecewiseSource source(data);
  std::size_t end = 0;
  int marks = 0;
  const std::vector<Bytes> parts = fragments_of(source, cutter);
  for (const Bytes& part : parts) {
    end += part.size();
    if (end < data.size() && cutter.next_mark(data, end - 1) == end) ++marks;
  }
  EXPECT_GE(marks, static_cast<int>(parts.size()) - 3);
}

TEST(Fragmenter, passes_on_what_the_source_says) {
  class Torn final : public ByteSource {
   public:
    Result<std::size_t> read(std::span<std::byte>) override { return failure("torn"); }
    const std::string& name() const override { return name_; }

   private:
    std::string name_ = "torn";
  } source;
  const ChunkCutter cutter(small_chunks());
  EXPECT_EQ(Fragmenter(source, cutter, least).next().error().message, "torn");
}

}  // namespace
}  // namespace millrace::dedup
