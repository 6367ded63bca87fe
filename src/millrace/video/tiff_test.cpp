// TIFF pictures: FFmpeg's decoder fails for each tag that it does not know only if it is to report damage.
#include "millrace/video/video_testing.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

class Tiff : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    const auto& [format, compression] = GetParam();
    ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=64x48,noise=alls=40 -frames:v 1 -pix_fmt {} "
                                   "-compression_algo {} '{}'",
                                   format, compression, path_)));
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.tif";
};

TEST_P(Tiff, IsReadAsFfmpegDoes) {
  for (const int threads : {1, 3}) {
    auto reader = open_reader(path_, {.decoder_threads = threads, .on_damage = OnDamage::stop});
    ASSERT_TRUE(reader) << reader.error().message;
    const Delivered delivered = read_all(**reader);
    EXPECT_FALSE(delivered.error) << delivered.error->message;
    EXPECT_EQ(delivered.frames.size(), 1U);
  }
}

TEST_P(Tiff, ThatIsCutIsDamaged) {
  const std::vector<char> bytes = file_bytes(path_);
  for (const double share : {0.2, 0.5, 0.9}) {
    write_file(path_,
               {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(share * std::ssize(bytes))});
    auto reader = open_reader(path_, {.on_damage = OnDamage::stop});
    if (!reader) continue;
    EXPECT_TRUE(read_all(**reader).error) << share;
  }
}

// The whole strip is replaced, so nothing that follows can be unpacked.
TEST_P(Tiff, WithStripsThatCannotBeUnpackedIsDamaged) {
  const std::string compression = std::get<1>(GetParam());
  if (compression == "raw" || compression == "packbits") return;  // any bytes are a picture
  std::vector<char> bytes = file_bytes(path_);
  std::fill_n(bytes.begin() + 8, 400, '\xff');
  write_file(path_, bytes);
  auto reader = open_reader(path_, {.on_damage = OnDamage::stop});
  if (!reader) return;
  EXPECT_TRUE(read_all(**reader).error);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tiff,
                         ::testing::Combine(::testing::Values("rgb24", "gray", "rgb48le", "yuv420p"),
                                            ::testing::Values("raw", "lzw", "deflate", "packbits")),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::get<0>(test.param), std::get<1>(test.param));
                         });

}  // namespace
}  // namespace millrace::video
