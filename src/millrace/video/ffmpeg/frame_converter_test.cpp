#include "millrace/video/ffmpeg/frame_converter.h"
#include "millrace/video/ffmpeg/pixel_format.h"

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

FfmpegPtr<AVFrame> make_picture(AVPixelFormat pixels, int width, int height) {
  FfmpegPtr<AVFrame> picture(av_frame_alloc());
  picture->format = pixels;
  picture->width = width;
  picture->height = height;
  EXPECT_EQ(av_frame_get_buffer(picture.get(), 0), 0);
  return picture;
}

class SemiPlanar : public ::testing::TestWithParam<std::pair<AVPixelFormat, int>> {};

TEST_P(SemiPlanar, KeepsEverySampleOfItsDepth) {
  const auto [pixels, bits] = GetParam();
  constexpr int width = 34;
  constexpr int height = 22;
  const auto picture = make_picture(pixels, width, height);
  const int mask = (1 << bits) - 1;
  const int up = 16 - bits;
  const auto luma = [&](int x, int y) { return (x * 977 + y * 331) & mask; };
  const auto chroma = [&](int x, int y, int plane) { return (x * 577 + y * 131 + plane * 7919) & mask; };
  for (int y = 0; y < height; ++y) {
    auto* row = reinterpret_cast<std::uint16_t*>(picture->data[0] + y * picture->linesize[0]);
    for (int x = 0; x < width; ++x)
      row[x] = static_cast<std::uint16_t>(luma(x, y) << up);
  }
  for (int y = 0; y < height / 2; ++y) {
    auto* row = reinterpret_cast<std::uint16_t*>(picture->data[1] + y * picture->linesize[1]);
    for (int x = 0; x < width; ++x)
      row[x] = static_cast<std::uint16_t>(chroma(x / 2, y, 1 + x % 2) << up);
  }

  const auto mapping = from_ffmpeg(pixels);
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->chroma, Chroma::c420);
  EXPECT_EQ(mapping->bits, bits);
  EXPECT_FALSE(mapping->same_planes);
  const FrameFormat format{
      .width = width, .height = height, .chroma = mapping->chroma, .bits = mapping->bits};
  auto converter = FrameConverter::make(format, pixels);
  ASSERT_TRUE(converter) << converter.error().message;
  Frame frame(format);
  ASSERT_TRUE(converter->convert(*picture, frame));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      ASSERT_EQ(frame.plane(0).row<std::uint16_t>(y)[x], luma(x, y)) << x << "," << y;
  for (int plane = 1; plane < 3; ++plane)
    for (int y = 0; y < height / 2; ++y)
      for (int x = 0; x < width / 2; ++x)
        ASSERT_EQ(frame.plane(plane).row<std::uint16_t>(y)[x], chroma(x, y, plane))
            << plane << ":" << x << "," << y;
}

INSTANTIATE_TEST_SUITE_P(Depths, SemiPlanar,
                         ::testing::Values(std::pair(AV_PIX_FMT_P010LE, 10),
                                           std::pair(AV_PIX_FMT_P016LE, 16)));

TEST(PixelFormat, MapsEveryFormatOfOursToItself) {
  for (const Chroma chroma : {Chroma::gray, Chroma::c420, Chroma::c422, Chroma::c444}) {
    for (const int bits : {8, 9, 10, 12, 14, 16}) {
      const auto pixels = to_ffmpeg(chroma, bits);
      ASSERT_TRUE(pixels);
      const auto mapping = from_ffmpeg(*pixels);
      ASSERT_TRUE(mapping);
      EXPECT_EQ(mapping->chroma, chroma);
      EXPECT_EQ(mapping->bits, bits);
      EXPECT_TRUE(mapping->same_planes);
      EXPECT_FALSE(mapping->full_range_name);
    }
    for (const int bits : {11, 13, 15})
      EXPECT_FALSE(to_ffmpeg(chroma, bits));
  }
}

TEST(PixelFormat, RefusesSurfacesWithoutSamples) {
  EXPECT_FALSE(from_ffmpeg(AV_PIX_FMT_VAAPI));
  EXPECT_FALSE(from_ffmpeg(AV_PIX_FMT_NONE));
}

}  // namespace
}  // namespace millrace::video
