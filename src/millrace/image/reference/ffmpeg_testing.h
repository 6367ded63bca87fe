// Pictures for comparing filters with FFmpeg's in tests.
#pragma once

#include "millrace/image/reference/scalar_reference.h"
#include "millrace/video/frame/frame.h"

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {

// The planes of a frame with 8-bit code values.
using Planes8 = std::vector<ScalarImage>;

// A 4:4:4 picture, fine enough to reveal a shift by one sample, and coarse enough to survive subsampling.
inline Planes8 test_picture(const video::FrameFormat& format) {
  Planes8 planes;
  for (int p = 0; p < 3; ++p) {
    ScalarImage& plane = planes.emplace_back();
    plane.size = {format.width, format.height};
    for (int y = 0; y < format.height; ++y) {
      for (int x = 0; x < format.width; ++x) {
        const double wave = std::sin(0.23 * x + 0.11 * y + p) + std::cos(0.13 * x - 0.21 * y + 2.0 * p);
        plane.pixels.push_back(static_cast<float>(std::lround(128 + 48 * wave)));
      }
    }
  }
  return planes;
}

inline void write_planes(const std::string& path, const Planes8& planes) {
  std::ofstream file(path, std::ios::binary);
  for (const ScalarImage& plane : planes) {
    for (float code : plane.pixels)
      file.put(static_cast<char>(static_cast<unsigned char>(code)));
  }
}

inline Planes8 read_planes(const std::string& path, const video::FrameFormat& format) {
  std::ifstream file(path, std::ios::binary);
  Planes8 planes;
  for (int p = 0; p < video::plane_count(format.chroma); ++p) {
    ScalarImage& plane = planes.emplace_back();
    plane.size = {video::plane_width(format, p), video::plane_height(format, p)};
    for (std::int64_t i = 0; i < plane.size.pixels(); ++i)
      plane.pixels.push_back(static_cast<float>(file.get()));
  }
  EXPECT_TRUE(file.good()) << path << " is shorter than a frame of " << video::to_string(format);
  EXPECT_EQ(file.peek(), std::ifstream::traits_type::eof()) << path << " is longer than a frame";
  return planes;
}

// Option of the ffmpeg program that reads a graph from a file. The shell reads the file, because FFmpeg 9 has
// no -filter_complex_script, and FFmpeg 5 no -/filter_complex.
inline std::string graph_option(const std::string& path) {
  return fmt::format("-filter_complex \"$(cat '{}')\"", path);
}

// FFmpeg's name of the 8-bit pixel format.
inline const char* pixel_format_of(video::Chroma chroma) {
  switch (chroma) {
  case video::Chroma::gray:
    return "gray";
  case video::Chroma::c420:
    return "yuv420p";
  case video::Chroma::c422:
    return "yuv422p";
  case video::Chroma::c444:
    return "yuv444p";
  }
  return "";
}

}  // namespace millrace::image
