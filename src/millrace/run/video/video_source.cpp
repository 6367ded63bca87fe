#include "millrace/run/video/video_source.h"

#include "millrace/video/reader.h"
#include "millrace/video/test_source.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace millrace::run {
namespace {

constexpr std::string_view pipe_name = "-";

class OwnFramesReader final : public video::FrameReader {
 public:
  OwnFramesReader(const video::FrameFormat& format, NextFrame next, std::optional<std::int64_t> total,
                  const std::stop_token& stop)
      : format_(format), next_(std::move(next)), total_(total), passed_on_(stop, [this] { cancel(); }) {}

  [[nodiscard]] const video::FrameFormat& format() const override { return format_; }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return total_; }
  void cancel() override { stop_.request_stop(); }

  [[nodiscard]] Result<std::optional<video::Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    if (ended_) return std::nullopt;
    auto frame = next_frame();
    if (!frame)
      failed_ = frame.error();
    else if (!*frame)
      ended_ = true;
    return frame;
  }

 private:
  [[nodiscard]] Result<std::optional<video::Frame>> next_frame() {
    if (stop_.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "reading was stopped"});
    auto frame = next_(stop_.get_token());
    if (!frame || !*frame) return frame;
    if ((*frame)->format() != format_)
      return failure("frame {} is {}, not {}", count_, video::to_string((*frame)->format()),
                     video::to_string(format_));
    (*frame)->index = count_++;
    return frame;
  }

  video::FrameFormat format_;
  NextFrame next_;
  std::optional<std::int64_t> total_;
  std::int64_t count_ = 0;
  bool ended_ = false;
  std::optional<Error> failed_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> passed_on_;
};

}  // namespace

VideoSource file_source(std::string name) {
  VideoSource source;
  source.repeatable = name != pipe_name;
  std::error_code unknown;
  source.live = name == pipe_name || std::filesystem::is_fifo(name, unknown);
  source.coded = video::is_coded_input(name);
  source.open = [name](const video::ReaderOptions& options) { return video::open_reader(name, options); };
  source.name = std::move(name);
  return source;
}

VideoSource frames_source(const video::FrameFormat& format, NextFrame next,
                          std::optional<std::int64_t> total) {
  VideoSource source{.name = "the caller's frames", .repeatable = false, .live = true};
  source.open = [format, next = std::move(next),
                 total](const video::ReaderOptions& options) -> Result<std::unique_ptr<video::FrameReader>> {
    return std::make_unique<OwnFramesReader>(format, next, total, options.stop);
  };
  return source;
}

}  // namespace millrace::run
