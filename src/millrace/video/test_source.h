// A generated video for tests and trials without a clip. It is the same on every machine and in every run.
#pragma once

#include "millrace/video/frame/frame_reader.h"

#include <memory>
#include <string_view>

namespace millrace::video {

inline constexpr std::string_view test_source_prefix = "test:";

struct TestSourceSpec {
  FrameFormat format;
  std::int64_t frames = 250;
  std::uint64_t seed = 1;

  bool operator==(const TestSourceSpec&) const = default;
};

// test:WIDTHxHEIGHT[@FRAMES][,OPTION]... with the options, in any order,
//   gray 420 422 444   chroma, each with an optional pBITS from 8 to 16, for instance 444p10; default 420
//   full               full colour range
//   fps=N or fps=N/D   frame rate, default 25
//   seed=N             seed of the noise and the texture, default 1
// FRAMES is 1 or more, default 250. Errors are of usage kind.
[[nodiscard]] Result<TestSourceSpec> parse_test_source(std::string_view text);

// The picture has slow gradients, a patch of fine texture, rotating stripes, a moving disc and rectangle, and
// noise of a few code values that differs in every frame.
[[nodiscard]] Result<std::unique_ptr<FrameReader>> open_test_source(std::string_view text,
                                                                    const ReaderOptions& options);

}  // namespace millrace::video
