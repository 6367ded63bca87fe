#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/gear_hash.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  GearHash hash;
  for (const std::byte next : bytes)
    hash.roll(next);
  return hash.value();
}

TEST(GearHash, is_a_function_of_the_last_64_bytes) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Bytes window = random_bytes(GearHash::window, seed);
    const std::uint64_t expected = hash_of(window);
    EXPECT_EQ(hash_of(joined({random_bytes(1 + seed * 7, seed + 1000), window})), expected);
    // The hash depends on each of them. The oldest affects only the highest bit, so not every value makes a
    // difference.
    bool matters = false;
    for (int flip = 1; flip < 256; ++flip) {
      Bytes altered = window;
      altered[seed % window.size()] ^= static_cast<std::byte>(flip);
      matters |= hash_of(altered) != expected;
    }
    EXPECT_TRUE(matters) << seed;
  }
}

TEST(GearHash, has_a_word_of_its_own_for_every_byte) {
  EXPECT_EQ(std::set(gear_words.begin(), gear_words.end()).size(), gear_words.size());
}

// Uses one rolling hash, as in the definition.
std::vector<Mark> marks_one_by_one(std::span<const std::byte> data) {
  std::vector<Mark> marks;
  GearHash hash;
  std::size_t last = 0;
  for (std::size_t end = 1; end <= data.size(); ++end) {
    hash.roll(data[end - 1]);
    if (end < GearHash::window || hash.value() >> (64 - mark_bits) != 0) continue;
    if (end - last >= least_between_marks) marks.push_back({static_cast<std::uint32_t>(end), hash.value()});
    last = end;
  }
  return marks;
}

TEST(GearMarks, are_those_of_one_hash_that_goes_along) {
  for (const std::size_t size : {0U, 63U, 64U, 65U, 67U, 68U, 200U, 50'001U}) {
    const Bytes data = random_bytes(size, static_cast<std::uint32_t>(size));
    EXPECT_EQ(gear_marks(data), marks_one_by_one(data)) << size;
  }
  for (const NamedStream& stream : streams(30'000))
    EXPECT_EQ(gear_marks(stream.bytes), marks_one_by_one(stream.bytes)) << stream.name;
  // Slightly fewer than one in 256, because marks close behind another one are left out.
  const auto found = static_cast<double>(gear_marks(random_bytes(1 << 20, 1)).size());
  EXPECT_NEAR(found * 256 / (1 << 20), 0.95, 0.05);
}

// For any content, marks take less memory than the content.
TEST(GearMarks, keep_apart) {
  for (int value = 0; value < 256; ++value) {
    const std::vector<Mark> marks = gear_marks(Bytes(10'000, static_cast<std::byte>(value)));
    EXPECT_LE(marks.size(), 10'000 / least_between_marks + 4) << value;
  }
}

std::vector<std::size_t> ends_of(const ChunkCutter& cutter, std::span<const std::byte> data) {
  return cutter.ends(gear_marks(data), data.size());
}

class ChunkCutters : public testing::TestWithParam<std::size_t> {
 protected:
  ChunkSizes sizes_ = *ChunkSizes::around(GetParam());
  ChunkCutter cutter_{sizes_};
};

TEST_P(ChunkCutters, keep_to_the_sizes_whatever_the_data) {
  for (const NamedStream& stream : streams(40 * sizes_.average)) {
    std::size_t begin = 0;
    for (const std::size_t end : ends_of(cutter_, stream.bytes)) {
      EXPECT_LE(end - begin, sizes_.most) << stream.name;
      if (end != stream.bytes.size()) {
        EXPECT_GE(end - begin, sizes_.least) << stream.name;
      }
      begin = end;
    }
    EXPECT_EQ(begin, stream.bytes.size()) << stream.name;
  }
}

TEST_P(ChunkCutters, cut_random_data_about_as_often_as_they_are_told) {
  const Bytes data = random_bytes(400 * sizes_.average, 1);
  const double mean = static_cast<double>(data.size()) / static_cast<double>(ends_of(cutter_, data).size());
  EXPECT_GT(mean, 0.8 * static_cast<double>(sizes_.average));
  EXPECT_LT(mean, 1.6 * static_cast<double>(sizes_.average));
}

TEST_P(ChunkCutters, find_the_same_cuts_again_behind_an_insertion) {
  const Bytes data = random_bytes(100 * sizes_.average, 2);
  const std::vector<std::size_t> ends = ends_of(cutter_, data);
  for (const std::size_t inserted : {1U, 63U, 5000U}) {
    std::set<std::size_t> moved;
    for (const std::size_t end : ends_of(cutter_, joined({random_bytes(inserted, 3), data})))
      moved.insert(end - std::min(end, inserted));
    const auto found = std::ranges::count_if(ends, [&](std::size_t end) { return moved.contains(end); });
    EXPECT_GT(static_cast<double>(found), 0.8 * static_cast<double>(ends.size())) << inserted;
  }
}

TEST_P(ChunkCutters, mark_places_by_the_64_bytes_before_them_alone) {
  const Bytes data = random_bytes(200 * sizes_.average, 4);
  int found = 0;
  for (std::size_t at = GearHash::window;; ++found) {
    at = cutter_.next_mark(data, at);
    if (at == data.size()) break;
    const auto window = std::span(data).subspan(at - GearHash::window, GearHash::window);
    const Bytes alone = joined({random_bytes(GearHash::window, 5), {window.begin(), window.end()}, Bytes(1)});
    EXPECT_EQ(cutter_.next_mark(alone, 2 * GearHash::window - 1), 2 * GearHash::window);
  }
  EXPECT_GT(found, 10);
}

INSTANTIATE_TEST_SUITE_P(averages, ChunkCutters, testing::Values(1024, 4096, 16384),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(ChunkSizes, are_powers_of_two_from_1K_to_256K) {
  for (const std::size_t wrong : {0U, 512U, 1000U, 16385U, 512U << 10})
    EXPECT_EQ(ChunkSizes::around(wrong).error().kind, ErrorKind::usage) << wrong;
  for (std::size_t right = 1024; right <= std::size_t{256} << 10; right *= 2)
    EXPECT_TRUE(ChunkSizes::around(right)) << right;
}

}  // namespace
}  // namespace millrace::dedup
