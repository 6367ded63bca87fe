// Helpers for the tests of VideoRun: an execution context, numbered frames, and sinks that record them.
#pragma once

#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/frame/frame_pool.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::run {

inline const video::FrameFormat small_gray = {.width = 6, .height = 4, .chroma = video::Chroma::gray};

inline image::Pipeline parsed(const std::string& text) {
  auto pipeline = image::parse_pipeline(text);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  return *pipeline;
}

// Shared by all tests: a process has one pool.
class VideoRunTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    machine_ = new machine::MachineReport(*machine::inspect_machine());
    context_ = ExecutionContext::make(*machine_, machine_->usable.worker_limit)->release();
  }
  static void TearDownTestSuite() {
    delete context_;
    delete machine_;
  }

  static inline machine::MachineReport* machine_ = nullptr;
  static inline ExecutionContext* context_ = nullptr;
};

// Frames in which every sample is the frame's number.
class Counting {
 public:
  explicit Counting(std::int64_t count, const video::FrameFormat& format = small_gray)
      : pool_(format), count_(count) {}

  Result<std::optional<video::Frame>> next() {
    if (given_ == count_) return std::nullopt;
    auto frame = pool_.acquire();
    if (!frame) return std::unexpected(frame.error());
    fill(*frame, static_cast<int>(given_++));
    return std::optional(std::move(*frame));
  }
  // Any thread.
  [[nodiscard]] std::int64_t given() const { return given_; }

 private:
  static void fill(const video::Frame& frame, int value) {
    const video::PlaneView plane = frame.plane(0);
    for (int y = 0; y < plane.height; ++y)
      std::memset(plane.row<std::uint8_t>(y), value, static_cast<std::size_t>(plane.width));
  }

  video::FramePool pool_;
  std::int64_t count_;
  std::atomic<std::int64_t> given_ = 0;
};

inline VideoSource source_of(Counting& counting, std::optional<std::int64_t> total = std::nullopt,
                             const video::FrameFormat& format = small_gray) {
  return frames_source(format, [&](const std::stop_token&) { return counting.next(); }, total);
}

inline VideoSink sink_to(std::vector<int>& samples) {
  return frames_sink([&](const video::Frame& frame) -> Status {
    EXPECT_EQ(frame.index, std::ssize(samples));
    samples.push_back(frame.plane(0).row<std::uint8_t>(frame.format().height - 1)[0]);
    return {};
  });
}

inline std::vector<int> numbers(int from, int count, int step = 1) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i)
    all.push_back(from + i * step);
  return all;
}

}  // namespace millrace::run
