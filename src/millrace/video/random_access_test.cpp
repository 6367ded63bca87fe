// Reading from any frame on gives the same frames as reading from the first, whatever the container and the
// codec.
#include "millrace/video/clipped_reader.h"
#include "millrace/video/video_testing.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

struct Coding {
  const char* name;
  const char* words;  // of the ffmpeg program
  const char* extension;
};

// Reads the part from `seconds` on.
Delivered read_from(const std::string& path, double seconds) {
  ReaderOptions options;
  options.decoder_threads = 1;
  auto opened = open_reader(path, options);
  if (!opened) return {{}, opened.error()};
  const auto part = clipped(*std::move(opened), {.start = std::llround(seconds * 1e6)}, nullptr, path);
  return read_all(*part);
}

class RandomAccess : public ::testing::TestWithParam<Coding> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    path_ = folder_ / (std::string("video.") + GetParam().extension);
    ASSERT_TRUE(ffmpeg(fmt::format("-f lavfi -i testsrc2=s=96x80:r=25:d=3.6 {} -pix_fmt yuv420p '{}'",
                                   GetParam().words, path_)));
    all_ = read_all(path_);
    ASSERT_FALSE(all_.error) << all_.error->message;
    ASSERT_EQ(all_.frames.size(), 90U);
  }

  TemporaryFolder folder_;
  std::string path_;
  Delivered all_;
};

// A start within the first two seconds reads through the frames before, without a seek.
TEST_P(RandomAccess, GivesTheSameFramesFromEachOnAsReadingInSequence) {
  const double origin = seconds_of(all_.frames.front());
  for (std::size_t first = 60; first < all_.frames.size(); ++first) {
    // Some files leave out the times of some frames.
    const double told = seconds_of(all_.frames[first]) - origin;
    const double seconds = std::isnan(told) ? static_cast<double>(first) / 25 : told;
    const Delivered part = read_from(path_, seconds);
    ASSERT_FALSE(part.error) << "from frame " << first << ": " << part.error->message;
    ASSERT_EQ(part.frames.size(), all_.frames.size() - first) << "from frame " << first;
    for (std::size_t i = 0; i < part.frames.size(); ++i)
      ASSERT_TRUE(same_samples(part.frames[i], all_.frames[first + i])) << "from frame " << first;
  }
}

TEST_P(RandomAccess, BehindTheEndSaysWhenTheLastFrameIsShown) {
  const Delivered part = read_from(path_, 5);
  ASSERT_TRUE(part.error);
  EXPECT_NE(part.error->message.find("no frame in the part"), std::string::npos) << part.error->message;
  EXPECT_NE(part.error->message.find("at 3.560 s"), std::string::npos) << part.error->message;
}

INSTANTIATE_TEST_SUITE_P(
    Videos, RandomAccess,
    ::testing::Values(
        Coding{"H264_ts", "-c:v libx264 -g 12 -bf 3", "ts"},
        Coding{"H264_one_group_ts", "-c:v libx264 -g 250", "ts"},
        Coding{"H264_without_b_ts", "-c:v libx264 -g 12 -bf 0", "ts"},
        Coding{"H264_open_ts", "-c:v libx264 -g 12 -bf 3 -x264-params open-gop=1", "ts"},
        Coding{"H264_mp4", "-c:v libx264 -g 12 -bf 3", "mp4"},
        Coding{"H264_open_mp4", "-c:v libx264 -g 12 -bf 3 -x264-params open-gop=1", "mp4"},
        Coding{"H264_fragmented_mp4", "-c:v libx264 -g 12 -bf 3 -movflags frag_keyframe+empty_moov", "mp4"},
        Coding{"H264_mkv", "-c:v libx264 -g 12 -bf 3", "mkv"},
        Coding{"H264_refresh_mp4", "-s 64x48 -c:v libx264 -intra-refresh 1 -g 30", "mp4"},
        Coding{"H264_refresh_mkv", "-s 64x48 -c:v libx264 -intra-refresh 1 -g 30", "mkv"},
        Coding{"H264_refresh_ts", "-s 64x48 -c:v libx264 -intra-refresh 1 -g 30", "ts"},
        Coding{"H264_refresh_raw", "-s 64x48 -c:v libx264 -intra-refresh 1 -g 30", "264"},
        Coding{"H264_refresh_pyramid_mp4",
               "-s 64x48 -c:v libx264 -intra-refresh 1 -g 25 -x264-params bframes=3:b-pyramid=normal", "mp4"},
        Coding{"H264_refresh_pyramid_ts",
               "-s 64x48 -c:v libx264 -intra-refresh 1 -g 25 -x264-params bframes=3:b-pyramid=normal", "ts"},
        Coding{"H264_flv", "-c:v libx264 -g 12 -bf 3", "flv"},
        Coding{"H264_open_mkv", "-c:v libx264 -g 12 -bf 3 -x264-params open-gop=1", "mkv"},
        Coding{"Mpeg2_ts", "-c:v mpeg2video -g 15 -bf 2", "ts"},
        Coding{"Mpeg2_mpg", "-c:v mpeg2video -g 15 -bf 2", "mpg"},
        Coding{"Mpeg2_with_sound_mpg",
               "-f lavfi -i sine=d=3.6 -c:v mpeg2video -g 15 -bf 2 -c:a mp2 -map 0 -map 1", "mpg"},
        Coding{"Mpeg2_vob", "-c:v mpeg2video -g 15 -bf 2", "vob"},
        Coding{"Mpeg2_mkv", "-c:v mpeg2video -bf 2", "mkv"},
        Coding{"Mpeg2_mxf", "-c:v mpeg2video -g 15 -bf 2", "mxf"},
        Coding{"Mpeg1_mpg", "-c:v mpeg1video -bf 2", "mpg"},
        Coding{"Mpeg4_avi", "-c:v mpeg4 -g 15 -bf 0", "avi"},
        Coding{"Mpeg4_with_b_avi", "-c:v mpeg4 -g 15 -bf 2", "avi"},
        Coding{"Mpeg4_with_b_mp4", "-c:v mpeg4 -bf 2", "mp4"},
        Coding{"Mpeg4_ts", "-c:v mpeg4 -g 15 -bf 2", "ts"}, Coding{"Ffv1_mkv", "-c:v ffv1 -g 5", "mkv"},
        Coding{"Vp9_webm", "-c:v libvpx-vp9 -g 20 -deadline realtime -cpu-used 8", "webm"},
        Coding{"Hevc_ts", "-c:v libx265 -x265-params log-level=none -g 15 -preset ultrafast", "ts"},
        Coding{"Hevc_open_mkv", "-c:v libx265 -x265-params log-level=none:open-gop=1 -g 15 -preset veryfast",
               "mkv"},
        Coding{"Mjpeg_avi", "-c:v mjpeg", "avi"}, Coding{"Wmv_asf", "-c:v wmv2 -g 15", "asf"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace millrace::video
