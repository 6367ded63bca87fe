// InputPasses: the frames of a source, read ahead, as often as asked.
#pragma once

#include "millrace/run/video/io_cpus.h"
#include "millrace/run/video/video_source.h"
#include "millrace/video/clipped_reader.h"
#include "millrace/video/overlap/overlapped_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::run {

// open(), start(), then next() until the end. Frames are numbered through, and every pass begins when the
// last frame of the one before has been shown. Used by one thread.
class InputPasses {
 public:
  // passes: at least 1. clip: of every pass; its frames are those of all passes together. The source must
  // outlive this object.
  InputPasses(const VideoSource& source, video::ReaderOptions options, int passes, const video::Clip& clip)
      : source_(source), options_(std::move(options)), passes_(passes), clip_(clip), most_(clip.frames) {}

  // Before open(): what the frames of every pass are to have.
  void convert_to(const video::Samples& samples) { options_.samples = samples; }
  // Opens the first pass; no more is read yet than tells the format. Also begins a pass behind another: a
  // failure where the format is not what it was.
  [[nodiscard]] Status open();
  // From now on frames that this refuses are errors.
  void check_by(std::function<Status(const video::Frame&)> check) { check_ = std::move(check); }
  // Begins to read ahead, in this and every later pass by a thread that is bound before its first read.
  void start(const IoCpus& cpus);
  // After start(): where it reads from now on.
  void move_to(const IoCpus& cpus);
  // After start(): how many frames are read ahead from now on, in this and every later pass.
  void set_depth(std::size_t frames);

  [[nodiscard]] const video::FrameFormat& format() const { return reader_->format(); }
  // How many frames there will be, where the source says; may be wrong.
  [[nodiscard]] std::optional<std::int64_t> total() const {
    return of_all_passes(reader_->frame_count_hint());
  }
  // The same, or what is to be expected by what was read so far.
  [[nodiscard]] std::optional<std::int64_t> expected() const;
  [[nodiscard]] Result<std::optional<video::Frame>> next();
  // After start(): how many frames next() gives at once.
  [[nodiscard]] std::size_t frames_there() const { return ahead_->frames_there(); }
  // After start(): when the frame that next() gave last had been read, by now_ns().
  [[nodiscard]] std::int64_t came_ns() const { return ahead_->came_ns(); }
  [[nodiscard]] video::Losses losses() const;
  [[nodiscard]] std::vector<std::string> unread() const { return reader_->unread(); }
  [[nodiscard]] video::SharedProperties properties() const { return reader_->properties(); }
  // What the source has beside the frames, on its way to a writer; may be null.
  [[nodiscard]] const std::shared_ptr<video::SideStreams>& side_streams() const {
    return options_.side_streams;
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> of_all_passes(std::optional<std::int64_t> frames) const;
  void read_ahead();
  void put_in_time(video::Frame& frame);
  [[nodiscard]] std::int64_t frame_duration() const;

  const VideoSource& source_;
  video::ReaderOptions options_;
  int passes_;
  video::Clip clip_;
  std::optional<std::int64_t> most_;
  std::unique_ptr<video::FrameReader> reader_;
  video::OverlappedReader* ahead_ = nullptr;  // reader_, once it reads ahead
  std::size_t depth_ = video::queue_depth;
  IoCpus cpus_;
  std::function<Status(const video::Frame&)> check_;  // may be none
  video::Losses before_;                              // in earlier passes
  std::optional<std::int64_t> last_time_;
  std::optional<std::int64_t> last_duration_;  // where the frame has one of its own
  std::int64_t first_time_ = 0;
  std::int64_t shift_ = 0;
  std::int64_t delivered_ = 0;
  std::optional<std::int64_t> a_pass_;  // the frames of the first, when it is over
  bool read_to_the_end_ = false;
  int pass_ = 0;
};

}  // namespace millrace::run
