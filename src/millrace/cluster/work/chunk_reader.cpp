#include "millrace/cluster/work/chunk_reader.h"

#include <mutex>
#include <optional>
#include <utility>

namespace millrace::cluster {
namespace {

using video::Frame;
using video::FrameReader;

class ChunkReader final : public FrameReader {
 public:
  ChunkReader(const JobPlan& plan, const ChunkCut& cut, OpenReader open, video::ReaderOptions options,
              ChunkReading& reading)
      : plan_(plan), cut_(cut), frames_(cut.before + cut.frames + cut.after), open_(std::move(open)),
        options_(std::move(options)), reading_(reading) {}

  [[nodiscard]] Status begin() {
    Status begun = begin_at(cut_.key.value_or(0) > 0 ? DecodedFrom::key : DecodedFrom::beginning);
    if (!begun) return begun;
    format_ = reader_->format();
    if (format_.has_timestamps() != plan_.has_times() ||
        (plan_.has_times() && (format_.time_base_numerator != plan_.time_base_numerator ||
                               format_.time_base_denominator != plan_.time_base_denominator)))
      return failure(
          "{}: its times are not those of the plan; make the plan anew, unless this is another file",
          plan_.input);
    if (!plan_.has_times()) {
      format_.time_base_numerator = format_.rate_denominator;
      format_.time_base_denominator = format_.rate_numerator;
    }
    return {};
  }

  [[nodiscard]] const video::FrameFormat& format() const override { return format_; }
  [[nodiscard]] video::SharedProperties properties() const override { return reader_->properties(); }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return frames_; }

  void cancel() override {
    const std::scoped_lock lock(exchange_);
    cancelled_ = true;
    if (reader_) reader_->cancel();
  }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    if (delivered_ == frames_) return std::nullopt;
    while (true) {
      Result<std::optional<Frame>> frame = reader_->next();
      if (!frame && frame.error().kind == ErrorKind::interrupted) return fail(frame.error());
      const std::string wrong = frame ? look_at(*frame) : frame.error().message;
      if (!wrong.empty()) {
        if (Status again = try_again(wrong); !again) return fail(again.error());
        continue;
      }
      if (!before_) return deliver(**std::move(frame));
    }
  }

 private:
  [[nodiscard]] std::int64_t due() const { return first_read(cut_) + delivered_; }
  [[nodiscard]] std::int64_t time_due() const { return plan_.times[static_cast<std::size_t>(due())]; }

  [[nodiscard]] std::unexpected<Error> fail(const Error& error) {
    failed_ = error;
    return std::unexpected(error);
  }

  // The problem with the frame. Empty if it is the expected one, or (before_) precedes it.
  [[nodiscard]] std::string look_at(const std::optional<Frame>& frame) {
    before_ = false;
    if (!frame) return fmt::format("the video ends before frame {}", due());
    ++reading_.decoded;
    if (!plan_.has_times()) {
      before_ = position_++ < due();
      return "";
    }
    if (!frame->timestamp) return fmt::format("frame {} has no time", due());
    if (*frame->timestamp == time_due()) {
      in_step_ = true;
      return "";
    }
    before_ = *frame->timestamp < time_due() && !in_step_;
    if (before_) return "";
    return fmt::format(
        "frame {} should be shown at {}, but the decoded one is shown at {} (units of {}/{} s)", due(),
        time_due(), *frame->timestamp, plan_.time_base_numerator, plan_.time_base_denominator);
  }

  [[nodiscard]] Result<std::optional<Frame>> deliver(Frame frame) {
    frame.index = delivered_;
    frame.timestamp = plan_.has_times() ? time_due() + plan_.shift() : due();
    ++delivered_;
    return std::optional(std::move(frame));
  }

  [[nodiscard]] Status try_again(const std::string& wrong) {
    if (reading_.first_reason.empty()) reading_.first_reason = wrong;
    if (reading_.from == DecodedFrom::beginning)
      return failure(
          "{}: {}, though it was decoded from its beginning; was it changed since the plan was made?",
          plan_.input, wrong);
    const bool earlier = reading_.from == DecodedFrom::key && cut_.earlier_key.value_or(0) > 0;
    return begin_at(earlier ? DecodedFrom::earlier_key : DecodedFrom::beginning);
  }

  [[nodiscard]] Status begin_at(DecodedFrom from) {
    auto opened = open_(options_);
    if (!opened) return std::unexpected(opened.error());
    if (reader_ && (*opened)->format() != reader_->format())
      return failure("{}: changed while it was read", plan_.input);
    std::optional<std::int64_t> key;
    if (from != DecodedFrom::beginning && plan_.has_times())
      key = from == DecodedFrom::key ? cut_.key : cut_.earlier_key;
    if (!key || !(*opened)->seek(plan_.times[static_cast<std::size_t>(*key)])) from = DecodedFrom::beginning;
    reading_.from = from;
    in_step_ = false;
    position_ = 0;
    const std::scoped_lock lock(exchange_);
    reader_ = *std::move(opened);
    if (cancelled_) reader_->cancel();
    return {};
  }

  const JobPlan& plan_;
  const ChunkCut cut_;
  const std::int64_t frames_;  // to be read
  const OpenReader open_;
  const video::ReaderOptions options_;
  ChunkReading& reading_;
  std::mutex exchange_;  // guards the pointer, which cancel() reads, and cancelled_
  std::unique_ptr<FrameReader> reader_;
  bool cancelled_ = false;
  video::FrameFormat format_;
  std::int64_t delivered_ = 0;
  std::int64_t position_ = 0;  // frames read, for a video without times
  bool in_step_ = false;       // an expected frame has arrived since the reader began
  bool before_ = false;        // the examined frame precedes the expected one
  std::optional<Error> failed_;
};

}  // namespace

std::string_view name_of(DecodedFrom from) {
  switch (from) {
  case DecodedFrom::key:
    return "the key frame before it";
  case DecodedFrom::earlier_key:
    return "one key frame earlier";
  case DecodedFrom::beginning:
    return "the beginning";
  }
  return "";
}

Result<std::unique_ptr<FrameReader>> open_chunk(const JobPlan& plan, const ChunkCut& cut,
                                                const OpenReader& open, const video::ReaderOptions& options,
                                                ChunkReading& reading) {
  auto reader = std::make_unique<ChunkReader>(plan, cut, open, options, reading);
  if (Status begun = reader->begin(); !begun) return std::unexpected(begun.error());
  return reader;
}

}  // namespace millrace::cluster
