#include "millrace/run/video/video_source.h"

#include "millrace/video/reader.h"
#include "millrace/video/side_reader.h"
#include "millrace/video/test_source.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

namespace millrace::run {
namespace {

constexpr std::string_view pipe_name = "-";

// The file's other streams, in words.
std::vector<std::string> content_of(const std::string& file, const std::stop_token& stop) {
  if (file.empty()) return {};
  const auto opened = video::open_reader(file, {.stop = stop});
  return opened ? (*opened)->unread() : std::vector<std::string>();
}

class OwnFramesReader final : public video::FrameReader {
 public:
  OwnFramesReader(const video::FrameFormat& format, NextFrame next, std::optional<std::int64_t> total,
                  video::SharedProperties properties, std::unique_ptr<video::SideReader> side,
                  std::vector<std::string> unread, const std::stop_token& stop)
      : format_(format), next_(std::move(next)), total_(total), properties_(std::move(properties)),
        side_(std::move(side)), unread_(std::move(unread)), passed_on_(stop, [this] { cancel(); }) {}

  [[nodiscard]] const video::FrameFormat& format() const override { return format_; }
  [[nodiscard]] video::SharedProperties properties() const override { return properties_; }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return total_; }
  [[nodiscard]] std::vector<std::string> unread() const override { return unread_; }
  void cancel() override { stop_.request_stop(); }

  [[nodiscard]] Result<std::optional<video::Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    if (ended_) return std::nullopt;
    auto frame = next_frame();
    if (!frame)
      failed_ = frame.error();
    else if (!*frame)
      end();
    return frame;
  }

 private:
  void end() {
    ended_ = true;
    if (side_) side_->finish();
  }

  [[nodiscard]] Result<std::optional<video::Frame>> next_frame() {
    if (stop_.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "reading was stopped"});
    auto frame = next_(stop_.get_token());
    if (!frame || !*frame) return frame;
    if ((*frame)->format() != format_)
      return failure("frame {} is {}, not {}", count_, video::to_string((*frame)->format()),
                     video::to_string(format_));
    (*frame)->index = count_++;
    if (side_) read_beside(**frame);
    return frame;
  }

  void read_beside(video::Frame& frame) {
    if (!frame.timestamp) frame.timestamp = last_time_ ? *last_time_ + duration() : side_->first_time();
    last_time_ = frame.timestamp;
    side_->read_for(*frame.timestamp);
  }

  // Duration of a frame in units of the time base.
  [[nodiscard]] std::int64_t duration() const {
    const double units = static_cast<double>(format_.rate_denominator) / format_.rate_numerator *
                         format_.time_base_denominator / format_.time_base_numerator;
    return std::max<std::int64_t>(1, std::llround(units));
  }

  video::FrameFormat format_;
  NextFrame next_;
  std::optional<std::int64_t> total_;
  video::SharedProperties properties_;
  std::unique_ptr<video::SideReader> side_;  // may be null
  std::vector<std::string> unread_;          // streams of the origin's file that are not read
  std::optional<std::int64_t> last_time_;    // time of the last frame; only used with `side_`
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
  source.has_side_streams = source.coded;
  source.open = [name](const video::ReaderOptions& options) { return video::open_reader(name, options); };
  source.name = std::move(name);
  return source;
}

VideoSource frames_source(const video::FrameFormat& format, NextFrame next, std::optional<std::int64_t> total,
                          FramesOrigin origin) {
  VideoSource source{.name = "the caller's frames", .repeatable = false, .live = true};
  source.has_side_streams = !origin.file.empty() && format.has_timestamps();
  if (origin.start > 0) source.side_start = origin.start;
  source.open = [format, next = std::move(next), total, origin = std::move(origin)](
                    const video::ReaderOptions& options) -> Result<std::unique_ptr<video::FrameReader>> {
    std::unique_ptr<video::SideReader> side;
    if (options.side_streams) {
      auto opened = video::open_side_reader(origin.file, options.side_streams,
                                            {.format = format, .start = origin.start, .stop = options.stop});
      if (!opened) return std::unexpected(opened.error());
      side = std::move(*opened);
    }
    return std::make_unique<OwnFramesReader>(format, next, total, origin.properties, std::move(side),
                                             options.side_streams ? std::vector<std::string>()
                                                                  : content_of(origin.file, options.stop),
                                             options.stop);
  };
  return source;
}

}  // namespace millrace::run
