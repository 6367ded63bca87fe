#include "millrace/video/sample_format.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/video/ffmpeg_backend.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>

namespace millrace::video {
namespace {

constexpr std::array<std::string_view, 32> names{
    "gray",      "gray9",     "gray10",    "gray12",    "gray14",    "gray16",    "yuv420p",   "yuv420p9",
    "yuv420p10", "yuv420p12", "yuv420p14", "yuv420p16", "yuv422p",   "yuv422p9",  "yuv422p10", "yuv422p12",
    "yuv422p14", "yuv422p16", "yuv444p",   "yuv444p9",  "yuv444p10", "yuv444p12", "yuv444p14", "yuv444p16",
    "nv12",      "p010",      "rgb24",     "rgb48",     "gbrp",      "gbrp10",    "gbrp12",    "gbrp16"};

}  // namespace

Result<SampleFormat> parse_sample_format(std::string_view name) {
  if (std::ranges::find(names, name) == names.end())
    return usage_error("unknown format {}{}; use {}", in_quotes(name), did_you_mean(name, names),
                       fmt::join(names, ", "));
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->sample_format(std::string(name));
}

Result<std::unique_ptr<FrameReader>> converted(std::unique_ptr<FrameReader> reader, const Samples& samples) {
  const FrameFormat& from = reader->format();
  if (from.chroma == samples.chroma && from.bits == samples.bits) return reader;
  const auto backend = ffmpeg_backend();
  if (!backend) return std::unexpected(backend.error());
  return (*backend)->converted(std::move(reader), samples);
}

}  // namespace millrace::video
