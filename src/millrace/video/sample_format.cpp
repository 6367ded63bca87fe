#include "millrace/video/sample_format.h"

#include "millrace/base/in_quotes.h"
#include "millrace/base/nearest_name.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/frame_picture.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/frame/frame_pool.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

constexpr std::array<std::string_view, 32> names{
    "gray",      "gray9",     "gray10",    "gray12",    "gray14",    "gray16",    "yuv420p",   "yuv420p9",
    "yuv420p10", "yuv420p12", "yuv420p14", "yuv420p16", "yuv422p",   "yuv422p9",  "yuv422p10", "yuv422p12",
    "yuv422p14", "yuv422p16", "yuv444p",   "yuv444p9",  "yuv444p10", "yuv444p12", "yuv444p14", "yuv444p16",
    "nv12",      "p010",      "rgb24",     "rgb48",     "gbrp",      "gbrp10",    "gbrp12",    "gbrp16"};

class ConvertedReader final : public FrameReader {
 public:
  ConvertedReader(std::unique_ptr<FrameReader> reader, const FrameFormat& format, FrameScaler scaler)
      : reader_(std::move(reader)), pool_(format), scaler_(std::move(scaler)) {}

  [[nodiscard]] const FrameFormat& format() const override { return pool_.format(); }
  [[nodiscard]] SharedProperties properties() const override { return reader_->properties(); }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override {
    return reader_->frame_count_hint();
  }
  [[nodiscard]] std::optional<std::int64_t> frames_expected() const override {
    return reader_->frames_expected();
  }
  [[nodiscard]] std::vector<std::string> unread() const override { return reader_->unread(); }
  [[nodiscard]] Losses losses() const override { return reader_->losses(); }
  [[nodiscard]] bool seek(std::int64_t time) override { return reader_->seek(time); }
  void complete_side_streams() override { reader_->complete_side_streams(); }
  void cancel() override { reader_->cancel(); }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    Result<std::optional<Frame>> frame = reader_->next();
    if (!frame || !*frame) return frame;
    Result<Frame> target = pool_.acquire();
    if (!target) return std::unexpected(std::move(target.error()));
    scaler_.scale(**frame, *target);
    target->index = (*frame)->index;
    target->timestamp = (*frame)->timestamp;
    target->properties = std::move((*frame)->properties);
    return std::optional(*std::move(target));
  }

 private:
  std::unique_ptr<FrameReader> reader_;
  FramePool pool_;
  FrameScaler scaler_;
};

}  // namespace

Result<SampleFormat> parse_sample_format(std::string_view name) {
  if (std::ranges::find(names, name) == names.end())
    return usage_error("unknown format {}{}; use {}", in_quotes(name), did_you_mean(name, names),
                       fmt::join(names, ", "));
  if (Status loaded = hear_ffmpeg(); !loaded) return std::unexpected(std::move(loaded.error()));
  const AVPixelFormat pixels = av_get_pix_fmt(std::string(name).c_str());
  const auto mapping = from_ffmpeg(pixels);
  if (!mapping) return usage_error("the format {} is not in this build of FFmpeg; use yuv420p", name);
  SampleFormat format{.samples = {.chroma = mapping->chroma, .bits = mapping->bits},
                      .pixel_format = av_get_pix_fmt_name(pixels),
                      .planar = mapping->same_planes};
  if (mapping->rgb) format.samples.bits = mapping->bits <= 8 ? 12 : 16;
  return format;
}

Result<std::unique_ptr<FrameReader>> converted(std::unique_ptr<FrameReader> reader, const Samples& samples) {
  const FrameFormat& from = reader->format();
  if (from.chroma == samples.chroma && from.bits == samples.bits) return reader;
  const FrameFormat to = with_samples(from, samples);
  auto scaler = FrameScaler::make(from, to);
  if (!scaler) return std::unexpected(scaler.error());
  return std::make_unique<ConvertedReader>(std::move(reader), to, *std::move(scaler));
}

}  // namespace millrace::video
