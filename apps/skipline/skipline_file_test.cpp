#include "skipline/skipline_file.h"
#include "skipline/skipline_testing.h"
#include "skipline/strip_threads.h"

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace millrace::skipline {
namespace {

using Setting = std::tuple<Variant, int, bool>;  // the int: strips; the bool: columns

class SkiplineFile : public testing::TestWithParam<Setting> {
 protected:
  Variant variant = std::get<0>(GetParam());
  int strips = std::get<1>(GetParam());
  bool columns = std::get<2>(GetParam());
};

TEST_P(SkiplineFile, IsWithoutLossAtThresholdZero) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Bitmap image = drawing(seed, 40 + 13 * static_cast<int>(seed), 64);
    for (const bool vertical_lines : {false, true}) {
      const auto encoded = encode(
          image, {.variant = variant, .vertical_lines = vertical_lines, .threshold = 0}, strips, columns);
      ASSERT_TRUE(encoded) << encoded.error().message;
      const auto read = read_skipline(file_of(*encoded));
      ASSERT_TRUE(read) << read.error().message;
      const auto decoded = decode(*read);
      ASSERT_TRUE(decoded) << decoded.error().message;
      ASSERT_EQ(*decoded, image);
    }
  }
}

TEST_P(SkiplineFile, LosesNoMoreThanItsThresholdInALine) {
  const Parameters parameters{.variant = variant, .range = 9, .threshold = 2};
  const Bitmap image = drawing(77, 130, 90);
  const auto decoded = decode(*encode(image, parameters, strips, columns));
  ASSERT_TRUE(decoded);
  const Bitmap before = columns ? image.transposed() : image;
  const Bitmap after = columns ? decoded->transposed() : *decoded;
  for (int y = 0; y < before.height(); ++y)
    ASSERT_LE(difference(before.line(y), after.line(y), 9, most_range), 2);
}

TEST_P(SkiplineFile, ReadBackHasWhatWasWritten) {
  const Parameters parameters{
      .variant = variant, .vertical_lines = false, .range = 11, .threshold = 5, .skipped = 8};
  const auto encoded = encode(drawing(1, 100, 80), parameters, strips, columns);
  const auto read = read_skipline(file_of(*encoded));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->width, 100);
  EXPECT_EQ(read->height, 80);
  EXPECT_EQ(read->columns, columns);
  EXPECT_EQ(read->parameters, parameters);
  EXPECT_EQ(read->strips, encoded->strips);
}

TEST_P(SkiplineFile, CutOrAlteredAnywhereIsRefusedWithItsPlace) {
  auto file = file_of(*encode(drawing(2, 60, 64), {.variant = variant}, strips, columns));
  for (std::size_t size = 8; size < file.size(); ++size) {
    const auto read = read_skipline(std::span(file).first(size));
    ASSERT_FALSE(read) << size;
    ASSERT_NE(read.error().message.find("byte"), std::string::npos) << read.error().message;
  }
  for (std::size_t place = 0; place < file.size(); ++place) {
    file[place] ^= std::byte{0x10};
    ASSERT_FALSE(read_skipline(file)) << place;
    file[place] ^= std::byte{0x10};
  }
  file.push_back(std::byte{0});
  EXPECT_FALSE(read_skipline(file));
}

INSTANTIATE_TEST_SUITE_P(Settings, SkiplineFile,
                         testing::Combine(testing::Values(Variant::basic, Variant::swing, Variant::tow),
                                          testing::Values(1, 2, 3, 7, 40), testing::Bool()));

TEST(Check, NamesWhatIsOutOfItsRange) {
  EXPECT_TRUE(check({}, 1, 1));
  EXPECT_FALSE(check({.range = 0}, 1, 1));
  EXPECT_FALSE(check({.range = most_range + 1}, 1, 1));
  EXPECT_FALSE(check({.range = 7, .threshold = 8}, 1, 1));
  EXPECT_FALSE(check({.threshold = -1}, 1, 1));
  EXPECT_FALSE(check({.skipped = most_skipped + 1}, 1, 1));
  EXPECT_FALSE(check({}, 0, 10));
  EXPECT_FALSE(check({}, most_strips + 1, 10'000));
  const Status many = check({}, 4, 3);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().kind, ErrorKind::usage);
  EXPECT_EQ(many.error().message, "4 strips are more than the image has lines, 3");
}

TEST(ForEachStrip, GivesEachAThreadOfItsOwn) {
  std::vector<std::thread::id> threads(16);
  ASSERT_TRUE(for_each_strip(16, [&](int strip) {
    threads[static_cast<std::size_t>(strip)] = std::this_thread::get_id();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // keeps thread ids from being reused
  }));
  EXPECT_EQ(std::ranges::count(threads, std::this_thread::get_id()), 0);
  EXPECT_EQ(std::ranges::count(threads, std::thread::id()), 0);
}

TEST(ForEachStrip, EndsAllStripsAndReportsTheFirstThatFailed) {
  std::atomic<int> ended = 0;
  const Status done = for_each_strip(8, [&](int strip) {
    if (strip == 3 || strip == 6) throw std::runtime_error("no memory");
    ++ended;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "strip 3: no memory");
  EXPECT_EQ(ended, 6);
}

}  // namespace
}  // namespace millrace::skipline
