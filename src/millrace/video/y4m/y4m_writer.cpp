#include "millrace/video/y4m/y4m_writer.h"

#include "millrace/video/y4m/y4m_frame.h"
#include "millrace/video/y4m/y4m_header.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace millrace::video {
namespace {

class Y4mWriter final : public FrameWriter {
 public:
  Y4mWriter(std::unique_ptr<OutputFile> file, const FrameFormat& format, bool keep_part)
      : file_(std::move(file)), format_(format), keep_part_(keep_part), begin_(file_->position()) {}

  [[nodiscard]] Status write_header() {
    const std::string header = y4m_header(format_) + "\n";
    return keep(file_->write(std::as_bytes(std::span(header))));
  }

  [[nodiscard]] Status write(const Frame& frame) override {
    if (failed_) return std::unexpected(*failed_);
    if (frame.format() != format_)
      return failure("{}: frame {} is {}, not {}", file_->name(), frame.index, to_string(frame.format()),
                     to_string(format_));
    pack_y4m_frame(frame, packed_);
    Status written = keep(file_->write(packed_));
    if (written) {
      times_kept_ = times_kept_ && is_on_time(frame);
      if (frame.properties)
        for (const auto& [name, bytes] : *frame.properties)
          properties_.insert(name);
      ++frames_;
    }
    return written;
  }

  [[nodiscard]] std::vector<std::string> not_kept() const override {
    std::vector<std::string> words;
    if (!times_kept_) words.emplace_back("frame times");
    words.insert(words.end(), properties_.begin(), properties_.end());
    if (format_.color_primaries != unspecified || format_.color_transfer != unspecified ||
        format_.color_matrix != unspecified)
      words.emplace_back("color primaries, transfer and matrix");
    if (const auto kept = parse_y4m_header(y4m_header(format_));
        kept && kept->chroma_location != format_.chroma_location)
      words.emplace_back("place of chroma samples");
    return words;
  }

  [[nodiscard]] Status finish() override {
    if (failed_ && (!keep_part_ || frames_ == 0)) return std::unexpected(*failed_);
    if (failed_ && file_->is_regular()) {
      if (Status cut = file_->truncate(whole_); !cut) return cut;
    } else if (failed_ && file_->position() != whole_) {
      return std::unexpected(*failed_);  // partial frame; a pipe cannot take it back
    }
    return file_->commit();
  }

  [[nodiscard]] WrittenAs written_as() const override {
    return {.codec = {}, .title = "uncompressed", .fallback = {}, .bytes = whole_ - begin_};
  }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  void cancel() override { file_->cancel(); }
  void cancel_after(std::chrono::milliseconds patience) override { file_->cancel_after(patience); }

 private:
  static constexpr int unspecified = 2;  // of H.273

  // Whether the frame is shown within half a frame of its time in a constant-rate video that starts at 0.
  [[nodiscard]] bool is_on_time(const Frame& frame) const {
    if (!format_.has_timestamps() || !frame.timestamp) return true;
    const double seconds =
        static_cast<double>(*frame.timestamp) * format_.time_base_numerator / format_.time_base_denominator;
    const double in_frames = seconds * format_.rate_numerator / format_.rate_denominator;
    return std::abs(in_frames - static_cast<double>(frames_)) <= 0.5;
  }

  Status keep(Status status) {
    if (status)
      whole_ = file_->position();
    else
      failed_ = status.error();
    return status;
  }

  std::unique_ptr<OutputFile> file_;
  FrameFormat format_;
  bool keep_part_;
  std::vector<std::byte> packed_;  // one frame as stored in the file, for a single write
  std::uint64_t begin_;            // start of the video: standard output may have been written to before
  std::uint64_t whole_ = 0;        // bytes up to the end of the last complete frame
  bool times_kept_ = true;
  std::set<std::string> properties_;  // names of the properties that frames had
  std::int64_t frames_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameWriter>> open_y4m_writer(std::unique_ptr<OutputFile> file,
                                                     const FrameFormat& format, bool keep_part) {
  auto writer = std::make_unique<Y4mWriter>(std::move(file), format, keep_part);
  if (Status written = writer->write_header(); !written) return std::unexpected(std::move(written.error()));
  return writer;
}

}  // namespace millrace::video
