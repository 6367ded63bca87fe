// What the tests of this room share: comparison of frames, formats to go through, files that clean up.
#pragma once

#include "millrace/base/shared_data_testing.h"
#include "millrace/base/temporary_folder_testing.h"
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

// Sizes, timestamps apart, and every sample.
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

// When a frame is shown, as it says itself; NaN where it does not.
inline double seconds_of(const Frame& frame) {
  const FrameFormat& format = frame.format();
  if (!format.has_timestamps() || !frame.timestamp) return std::nan("");
  return static_cast<double>(*frame.timestamp) * format.time_base_numerator / format.time_base_denominator;
}

// Files have a time base of their own, and say more often that frames are not interlaced.
inline FrameFormat without_time_base(FrameFormat format) {
  if (format.field_order == FieldOrder::progressive) format.field_order = FieldOrder::unspecified;
  format.time_base_numerator = 0;
  format.time_base_denominator = 1;
  return format;
}

// What a reader delivers, and the error it ends with.
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

// Writes all frames, at least one, whether the file exists or not; the first error otherwise.
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

// A real clip; empty when the shared data is not on this machine.
inline std::string clip(const std::string& name) {
  const std::filesystem::path path = shared_data() / "clips" / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

inline bool have_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

// What a shell command prints.
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

// Whether FFmpeg's program did what it was told.
inline bool ffmpeg(const std::string& words) {
  return std::system(("ffmpeg -v error -nostdin -y " + words + " </dev/null 2>/dev/null").c_str()) == 0;
}

struct Layout {
  const char* name;  // in the syntax of test sources
  Chroma chroma;
};
inline constexpr Layout layouts[] = {
    {"gray", Chroma::gray}, {"420", Chroma::c420}, {"422", Chroma::c422}, {"444", Chroma::c444}};

}  // namespace millrace::video::testing

// Tests that need a real clip say so when it is not there.
#define MILLRACE_REQUIRE_CLIP(path)                                                                          \
  if ((path).empty())                                                                                        \
  GTEST_SKIP() << "SKIPPED FOR LACK OF DATA: set MILLRACE_SHARED to the folder that has clips/"
