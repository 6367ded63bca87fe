// Helpers for tests of millrace.h: handles that free themselves, and frames in the caller's memory.
#pragma once

#include "millrace/api/millrace.h"
#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::api::testing {

#define OK(call) ASSERT_EQ(call, MILLRACE_OK) << millrace_error()

// Frees the pipeline however the test ends.
struct OwnPipeline {
  explicit OwnPipeline(const std::string& text) {
    EXPECT_EQ(millrace_pipeline_create(text.c_str(), &handle), MILLRACE_OK) << millrace_error();
  }
  ~OwnPipeline() { millrace_pipeline_free(handle); }
  OwnPipeline(const OwnPipeline&) = delete;
  OwnPipeline& operator=(const OwnPipeline&) = delete;
  millrace_pipeline* handle = nullptr;
};

struct OwnRun {
  explicit OwnRun(const std::string& pipeline) {
    const OwnPipeline made(pipeline);
    EXPECT_EQ(millrace_run_create(made.handle, &handle), MILLRACE_OK) << millrace_error();
    EXPECT_EQ(millrace_run_set(handle, "no-profile", "true"), MILLRACE_OK);
  }
  ~OwnRun() { millrace_run_free(handle); }
  OwnRun(const OwnRun&) = delete;
  OwnRun& operator=(const OwnRun&) = delete;
  millrace_run* handle = nullptr;
};

inline constexpr millrace_format small_gray = MILLRACE_FORMAT(16, 8, MILLRACE_GRAY, 8);

// Memory of a caller, with gaps between the rows, or stored bottom-up.
class Memory {
 public:
  explicit Memory(const millrace_format& format, bool upside_down = false) {
    int planes = 0;
    millrace_format_plane(&format, 0, &planes, nullptr, nullptr);
    for (int p = 0; p < planes; ++p) {
      int width = 0;
      int height = 0;
      millrace_format_plane(&format, p, nullptr, &width, &height);
      const std::ptrdiff_t row = std::ptrdiff_t{width} * (format.bits > 16 ? 4 : format.bits > 8 ? 2 : 1);
      const std::ptrdiff_t stride = row + 5;
      planes_.emplace_back(static_cast<std::size_t>(stride * height), std::byte{0});
      row_bytes_.push_back(row);
      heights_.push_back(height);
      frame.planes[p] = planes_.back().data() + (upside_down ? stride * (height - 1) : 0);
      frame.strides[p] = upside_down ? -stride : stride;
    }
  }

  void fill(const video::Frame& from) {
    for (int p = 0; p < from.planes(); ++p)
      for (int y = 0; y < heights_[static_cast<std::size_t>(p)]; ++y)
        std::memcpy(row(p, y), from.plane(p).row<std::byte>(y), bytes(p));
    frame.timestamp = from.timestamp.value_or(MILLRACE_NO_TIMESTAMP);
  }
  [[nodiscard]] bool holds(const video::Frame& other) {
    if (std::ssize(heights_) != other.planes()) return false;
    for (int p = 0; p < other.planes(); ++p)
      for (int y = 0; y < heights_[static_cast<std::size_t>(p)]; ++y)
        if (std::memcmp(row(p, y), other.plane(p).row<std::byte>(y), bytes(p)) != 0) return false;
    return true;
  }

  [[nodiscard]] bool same(Memory& other) {
    if (heights_ != other.heights_ || row_bytes_ != other.row_bytes_) return false;
    for (int p = 0; p < std::ssize(heights_); ++p)
      for (int y = 0; y < heights_[static_cast<std::size_t>(p)]; ++y)
        if (std::memcmp(row(p, y), other.row(p, y), bytes(p)) != 0) return false;
    return true;
  }

  millrace_frame frame = MILLRACE_FRAME;

 private:
  [[nodiscard]] std::byte* row(int p, int y) {
    return static_cast<std::byte*>(frame.planes[p]) + y * frame.strides[p];
  }
  [[nodiscard]] std::size_t bytes(int p) const {
    return static_cast<std::size_t>(row_bytes_[static_cast<std::size_t>(p)]);
  }

  std::vector<std::vector<std::byte>> planes_;
  std::vector<std::ptrdiff_t> row_bytes_;
  std::vector<int> heights_;
};

}  // namespace millrace::api::testing
