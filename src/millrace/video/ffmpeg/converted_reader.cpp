// Converts frames to other samples.
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/frame_picture.h"
#include "millrace/video/ffmpeg/linked_backend.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/frame/frame_pool.h"

#include <utility>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

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
    const OwnFfmpegCalls own;
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

Result<SampleFormat> LinkedBackend::sample_format(const std::string& name) const {
  const AVPixelFormat pixels = av_get_pix_fmt(name.c_str());
  const auto mapping = from_ffmpeg(pixels);
  if (!mapping) return usage_error("the format {} is not in this build of FFmpeg; use yuv420p", name);
  SampleFormat format{.samples = {.chroma = mapping->chroma, .bits = mapping->bits},
                      .pixel_format = av_get_pix_fmt_name(pixels),
                      .planar = mapping->same_planes};
  if (mapping->rgb) format.samples.bits = mapping->bits <= 8 ? 12 : 16;
  return format;
}

Result<std::unique_ptr<FrameReader>> LinkedBackend::converted(std::unique_ptr<FrameReader> reader,
                                                              const Samples& samples) const {
  const OwnFfmpegCalls own;
  const FrameFormat from = reader->format();
  const FrameFormat to = with_samples(from, samples);
  auto scaler = FrameScaler::make(from, to);
  if (!scaler) return std::unexpected(scaler.error());
  return std::make_unique<ConvertedReader>(std::move(reader), to, *std::move(scaler));
}

}  // namespace millrace::video
