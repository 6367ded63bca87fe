// Shared by the tests of this module: comparison of frames, formats to try, temporary files.
#pragma once

#include "millrace/base/testing/shared_data_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/video/reader.h"
#include "millrace/video/writer.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::video::testing {

// Compares size, format and every sample, but not timestamps.
inline ::testing::AssertionResult same_samples(const Frame& a, const Frame& b) {
  if (a.format().width != b.format().width || a.format().height != b.format().height ||
      a.format().chroma != b.format().chroma || a.format().bits != b.format().bits)
    return ::testing::AssertionFailure() << to_string(a.format()) << " is not " << to_string(b.format());
  for (int index = 0; index < a.planes(); ++index) {
    const PlaneView left = a.plane(index);
    const PlaneView right = b.plane(index);
    const std::size_t bytes = static_cast<std::size_t>(left.width) * bytes_per_sample(a.format());
    for (int y = 0; y < left.height; ++y)
      if (std::memcmp(left.row<std::byte>(y), right.row<std::byte>(y), bytes) != 0)
        return ::testing::AssertionFailure()
               << "frame " << a.index << ", plane " << index << ", row " << y << " differs";
  }
  return ::testing::AssertionSuccess();
}

// The frame's own presentation time; NaN if it has none.
inline double seconds_of(const Frame& frame) {
  const FrameFormat& format = frame.format();
  if (!format.has_timestamps() || !frame.timestamp) return std::nan("");
  return static_cast<double>(*frame.timestamp) * format.time_base_numerator / format.time_base_denominator;
}

// For comparisons with files, which have their own time base and often tag frames as progressive.
inline FrameFormat without_time_base(FrameFormat format) {
  if (format.field_order == FieldOrder::progressive) format.field_order = FieldOrder::unspecified;
  format.time_base_numerator = 0;
  format.time_base_denominator = 1;
  return format;
}

// The frames of a reader, and the error that ended it.
struct Delivered {
  std::vector<Frame> frames;
  std::optional<Error> error;
};

inline Delivered read_all(FrameReader& reader) {
  Delivered delivered;
  for (;;) {
    Result<std::optional<Frame>> frame = reader.next();
    if (!frame) {
      delivered.error = frame.error();
      return delivered;
    }
    if (!*frame) return delivered;
    EXPECT_EQ((*frame)->index, static_cast<std::int64_t>(delivered.frames.size()));
    delivered.frames.push_back(**std::move(frame));
  }
}

inline Delivered read_all(const std::string& input, const ReaderOptions& options = {}) {
  Result<std::unique_ptr<FrameReader>> reader = open_reader(input, options);
  if (!reader) return {{}, reader.error()};
  return read_all(**reader);
}

// Writes all frames (at least one) and overwrites an existing file. Returns the first error.
inline Status write_all(const std::string& output, const std::vector<Frame>& frames,
                        WriterOptions options = {}) {
  options.overwrite = Overwrite::yes;
  Result<std::unique_ptr<FrameWriter>> writer = open_writer(output, frames.front().format(), options);
  if (!writer) return std::unexpected(writer.error());
  for (const Frame& frame : frames)
    if (Status written = (*writer)->write(frame); !written) return written;
  return (*writer)->finish();
}

inline std::vector<char> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Path of a real clip; empty if the shared data is missing.
inline std::string clip(const std::string& name) {
  const std::filesystem::path path = shared_data() / "clips" / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

inline bool have_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

// Standard output of a shell command.
inline std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  std::size_t count = 0;
  while ((count = fread(buffer, 1, sizeof buffer, pipe)) > 0)
    text.append(buffer, count);
  pclose(pipe);
  return text;
}

// Runs FFmpeg's program; whether it succeeded.
inline bool ffmpeg(const std::string& words) {
  return std::system(("ffmpeg -v error -nostdin -y " + words + " </dev/null 2>/dev/null").c_str()) == 0;
}

struct Layout {
  const char* name;  // in test source syntax
  Chroma chroma;
};
inline constexpr Layout layouts[] = {
    {"gray", Chroma::gray}, {"420", Chroma::c420}, {"422", Chroma::c422}, {"444", Chroma::c444}};

}  // namespace millrace::video::testing

// Skips a test that needs a real clip if the clip is missing.
#define MILLRACE_REQUIRE_CLIP(path)                                                                          \
  if ((path).empty())                                                                                        \
  GTEST_SKIP() << "SKIPPED FOR LACK OF DATA: set MILLRACE_SHARED to the folder that has clips/"
