// Reads the other streams of a file.
#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"
#include "millrace/video/ffmpeg/linked_backend.h"
#include "millrace/video/ffmpeg/side_streams.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::video {
namespace {

class FileSideReader final : public SideReader {
 public:
  FileSideReader(std::unique_ptr<Demuxer> demuxer, std::shared_ptr<SideStreams> side,
                 const SideReaderOptions& options)
      : demuxer_(std::move(demuxer)), side_(std::move(side)),
        unit_{options.format.time_base_numerator, options.format.time_base_denominator},
        shift_(av_rescale_q(options.start, AV_TIME_BASE_Q, unit_)),
        duration_(std::max<std::int64_t>(
            1, av_rescale_q(1, {options.format.rate_denominator, options.format.rate_numerator}, unit_))) {}

  [[nodiscard]] std::int64_t first_time() const override { return file_begin() - shift_; }

  void read_for(std::int64_t time) override {
    const OwnFfmpegCalls own;
    const std::int64_t in_file = time + shift_;
    if (!last_) {
      // If the first frame is not the first of the file, the frames are a part of it.
      if (in_file > file_begin()) start_ = in_file;
      side_->set_window(start_, std::nullopt, shift_, unit_);
    }
    last_ = std::max(last_.value_or(in_file), in_file);
    // Files may store sound somewhat later than the video it belongs to.
    read_while([&] { return decoded_ <= *last_ + av_rescale_q(AV_TIME_BASE, AV_TIME_BASE_Q, unit_); });
  }

  void finish() override {
    const OwnFfmpegCalls own;
    if (!last_) return;
    // Tolerates half a frame, because the caller's frame times may be rounded differently.
    const auto all_are_shown = [&] { return shown_ <= *last_ + duration_ / 2; };
    read_while(all_are_shown);
    if (all_are_shown()) return;
    side_->end_with_frames();
    side_->set_window(start_, *last_ + duration_, shift_, unit_);
    demuxer_->complete_side_streams();
  }

 private:
  // On the clock of the file, in units of the frames.
  [[nodiscard]] std::int64_t file_begin() const {
    const AVStream& video = demuxer_->stream();
    return video.start_time == AV_NOPTS_VALUE ? 0 : av_rescale_q(video.start_time, video.time_base, unit_);
  }

  template <class Condition> void read_while(const Condition& wanted) {
    while (!ended_ && wanted()) {
      const Demuxer::Read read = demuxer_->read();
      if (read.outcome == Demuxer::Outcome::end) {
        ended_ = true;
        return;
      }
      const AVPacket& packet = *read.packet;
      const AVRational base = demuxer_->stream().time_base;
      const std::int64_t decoded = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
      if (decoded != AV_NOPTS_VALUE) decoded_ = std::max(decoded_, av_rescale_q(decoded, base, unit_));
      const bool is_shown = (packet.flags & AV_PKT_FLAG_DISCARD) == 0 && packet.pts != AV_NOPTS_VALUE;
      if (is_shown) shown_ = std::max(shown_, av_rescale_q(packet.pts, base, unit_));
    }
  }

  std::unique_ptr<Demuxer> demuxer_;
  std::shared_ptr<SideStreams> side_;
  const AVRational unit_;  // of all times here, which are on the clock of the file
  const std::int64_t shift_;
  const std::int64_t duration_;        // of one frame
  std::optional<std::int64_t> start_;  // earlier content is dropped
  std::optional<std::int64_t> last_;   // presentation time of the latest frame
  std::int64_t decoded_ = INT64_MIN;   // decoding time of the last video packet read
  std::int64_t shown_ = INT64_MIN;     // latest presentation time of the packets read
  bool ended_ = false;                 // end of file reached
};

}  // namespace

Result<std::unique_ptr<SideReader>> LinkedBackend::open_side_reader(const std::string& file,
                                                                    std::shared_ptr<SideStreams> side,
                                                                    const SideReaderOptions& options) const {
  const OwnFfmpegCalls own;
  auto opened =
      InputFile::open(file, {.missing = "the sound that goes with its frames is read from it"}, options.stop);
  if (!opened) return std::unexpected(std::move(opened.error()));
  auto demuxer = Demuxer::open(*std::move(opened), side);
  if (!demuxer) return std::unexpected(demuxer.error());
  return std::make_unique<FileSideReader>(*std::move(demuxer), std::move(side), options);
}

}  // namespace millrace::video
