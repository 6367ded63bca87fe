// Parts of a video hold exactly the frames shown from their start to before their end, whatever the unit of
// time.
#include "millrace/video/clipped_reader.h"
#include "millrace/video/test_source.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

// The frames of a generated video count as its unit of time.
std::vector<std::int64_t> clipped_frames(int rate, std::int64_t frames, const Clip& clip) {
  const std::string source = fmt::format("test:16x16@{},gray,fps={}", frames, rate);
  // Each frame has its own noise, so the samples tell which frame it is.
  std::vector<std::vector<std::uint8_t>> all;
  const auto samples = [](const Frame& frame) {
    const auto* const row = frame.plane(0).row<std::uint8_t>(3);
    return std::vector<std::uint8_t>(row, row + 16);
  };
  const auto open = [&] { return open_test_source(source, {}).value(); };
  const auto whole = open();
  for (auto frame = whole->next(); frame && *frame; frame = whole->next())
    all.push_back(samples(**frame));
  const auto part = clipped(open(), clip, nullptr, "test");
  std::vector<std::int64_t> numbers;
  for (auto frame = part->next(); frame && *frame; frame = part->next())
    numbers.push_back(std::ranges::find(all, samples(**frame)) - all.begin());
  return numbers;
}

TEST(ClippedReader, GivesTheFramesShownFromItsStartToBeforeItsEnd) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const int rate = 1 + static_cast<int>(random() % 60);
    constexpr std::int64_t frames = 40;
    const std::int64_t most = frames * 1'000'000 / rate;
    const std::int64_t start = static_cast<std::int64_t>(random()) % most;
    const std::int64_t end = start + static_cast<std::int64_t>(random()) % most;
    std::vector<std::int64_t> expected;
    for (std::int64_t n = 0; n < frames; ++n)
      // Times on the command line may be a microsecond late where a frame is shown between two of them.
      if (n * 1'000'000 > (start - 1) * rate && n * 1'000'000 <= (end - 1) * rate) expected.push_back(n);
    EXPECT_EQ(clipped_frames(rate, frames, {.start = start, .end = end}), expected)
        << rate << " frames a second from " << start << " to " << end;
  }
}

}  // namespace
}  // namespace millrace::video
