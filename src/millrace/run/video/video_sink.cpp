#include "millrace/run/video/video_sink.h"

#include "millrace/video/writer.h"

#include <optional>
#include <utility>

namespace millrace::run {
namespace {

class OwnFramesWriter final : public video::FrameWriter {
 public:
  explicit OwnFramesWriter(TakeFrame take) : take_(std::move(take)) {}

  [[nodiscard]] Status write(const video::Frame& frame) override { return write_and_keep(frame.clone()); }
  [[nodiscard]] Status write_and_keep(video::Frame frame) override {
    if (status_) status_ = take_(frame);
    if (status_) ++frames_;
    return status_;
  }
  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }

 private:
  TakeFrame take_;
  Status status_;
  std::int64_t frames_ = 0;
};

}  // namespace

VideoSink file_sink(std::string name) {
  VideoSink sink;
  sink.coded = video::is_coded_output(name);
  sink.takes_side_streams = video::takes_side_streams(name);
  sink.keeps_frames = name != "null";
  sink.open = [name](const video::FrameFormat& format, const video::WriterOptions& options) {
    return video::open_writer(name, format, options);
  };
  sink.name = std::move(name);
  return sink;
}

VideoSink frames_sink(TakeFrame take) {
  VideoSink sink{.name = "the caller"};
  sink.open = [take = std::move(take)](const video::FrameFormat&, const video::WriterOptions&)
      -> Result<std::unique_ptr<video::FrameWriter>> { return std::make_unique<OwnFramesWriter>(take); };
  return sink;
}

}  // namespace millrace::run
