#include "millrace/video/y4m/y4m_reader.h"

#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/y4m/y4m_header.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>

namespace millrace::video {
namespace {

static_assert(std::endian::native == std::endian::little,
              "y4m samples of more than 8 bits are little-endian");

constexpr std::size_t buffer_bytes = 256 << 10;  // fits a second-level cache
constexpr std::size_t direct_bytes = 64 << 10;   // larger blocks are read directly, without a copy
constexpr std::size_t max_line = 1024;           // for a header line; real ones have about 100 characters

// Reads lines and blocks from a byte source.
class BufferedSource {
 public:
  explicit BufferedSource(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), memory_(allocate_samples(buffer_bytes)) {}

  // Fills the destination, or less at the end of the source.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) {
    std::size_t done = 0;
    while (done < destination.size()) {
      const std::size_t missing = destination.size() - done;
      if (begin_ == end_ && missing >= direct_bytes) {
        const Result<std::size_t> count = source_->read(destination.subspan(done));
        if (!count) return std::unexpected(count.error());
        if (*count == 0) break;
        done += *count;
        continue;
      }
      if (begin_ == end_) {
        const Status filled = fill();
        if (!filled) return std::unexpected(filled.error());
        if (begin_ == end_) break;
      }
      const std::size_t count = std::min(missing, end_ - begin_);
      std::memcpy(destination.data() + done, memory_.get() + begin_, count);
      begin_ += count;
      done += count;
    }
    return done;
  }

  // Returns the text before the next newline; nullopt if the source ends first or the line is too long.
  [[nodiscard]] Result<std::optional<std::string>> read_line() {
    std::string line;
    std::byte byte{};
    while (line.size() < max_line) {
      const Result<std::size_t> count = read({&byte, 1});
      if (!count) return std::unexpected(count.error());
      if (*count == 0) return std::nullopt;
      if (byte == std::byte{'\n'}) return line;
      line.push_back(static_cast<char>(byte));
    }
    return std::nullopt;
  }

  [[nodiscard]] Result<bool> at_end() {
    if (begin_ == end_) {
      const Status filled = fill();
      if (!filled) return std::unexpected(filled.error());
    }
    return begin_ == end_;
  }

  [[nodiscard]] std::optional<std::uint64_t> remaining() const {
    const std::optional<std::uint64_t> behind = source_->remaining();
    return behind ? std::optional(*behind + (end_ - begin_)) : std::nullopt;
  }

  void cancel() { source_->cancel(); }

 private:
  Status fill() {
    const Result<std::size_t> count = source_->read({memory_.get(), buffer_bytes});
    if (!count) return std::unexpected(count.error());
    begin_ = 0;
    end_ = *count;
    return {};
  }

  std::unique_ptr<ByteSource> source_;
  struct Free {
    void operator()(std::byte* memory) const { free_samples(memory); }
  };
  // Aligned like samples. On Zen 3, copying is six times slower if the destination starts 1 to 31 bytes
  // further in its page than the source (video_bench read_blocks). Memory from malloc starts 16 bytes into
  // one.
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class Y4mReader final : public FrameReader {
 public:
  Y4mReader(BufferedSource source, std::string name, const FrameFormat& format, OnDamage on_damage)
      : source_(std::move(source)), name_(std::move(name)), pool_(format), on_damage_(on_damage) {
    const std::size_t each = packed_bytes(format) + y4m_frame_magic.size() + 1;
    if (const auto bytes = source_.remaining()) hint_ = static_cast<std::int64_t>(*bytes / each);
  }

  [[nodiscard]] const FrameFormat& format() const override { return pool_.format(); }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return hint_; }
  [[nodiscard]] Losses losses() const override { return losses_; }
  void cancel() override { source_.cancel(); }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    if (ended_) return std::nullopt;
    Result<std::optional<Frame>> frame = read_good_frame();
    if (!frame)
      failed_ = frame.error();
    else
      ++index_;
    return frame;
  }

 private:
  [[nodiscard]] Result<std::optional<Frame>> read_good_frame() {
    for (;;) {
      damage_.clear();
      Result<std::optional<Frame>> frame = read_frame();
      if (frame || damage_.empty() || on_damage_ == OnDamage::stop) return frame;
      ++losses_.damaged;
      if (losses_.first_damage.empty()) losses_.first_damage = fmt::format("frame {}: {}", index_, damage_);
      if (ended_) return std::nullopt;
    }
  }

  [[nodiscard]] Result<std::optional<Frame>> read_frame() {
    const Result<bool> at_end = source_.at_end();
    if (!at_end) return std::unexpected(at_end.error());
    if (*at_end) return std::nullopt;
    const Result<std::optional<std::string>> line = source_.read_line();
    if (!line) return std::unexpected(line.error());
    if (!*line) {
      const Result<bool> ended = source_.at_end();
      if (!ended) return std::unexpected(ended.error());
      if (*ended) return truncated();
    }
    if (!*line || !(**line == y4m_frame_magic || (*line)->starts_with("FRAME ")))
      return failure("{}: frame {}: is damaged: does not begin with '{}'", name_, index_, y4m_frame_magic);
    // Check before memory is allocated for a frame that cannot exist.
    if (const auto left = source_.remaining(); left && *left < packed_bytes(format())) return truncated();

    Result<Frame> frame = pool_.acquire();
    if (!frame) return std::unexpected(std::move(frame.error()));
    for (int index = 0; index < frame->planes(); ++index) {
      const PlaneView plane = frame->plane(index);
      const std::size_t bytes = static_cast<std::size_t>(plane.width) * bytes_per_sample(format());
      const bool whole = plane.stride == static_cast<std::ptrdiff_t>(bytes);
      const int rows = whole ? plane.height : 1;
      for (int y = 0; y < plane.height; y += rows) {
        const std::size_t wanted = bytes * static_cast<std::size_t>(rows);
        const Result<std::size_t> count = source_.read({plane.row<std::byte>(y), wanted});
        if (!count) return std::unexpected(count.error());
        if (*count < wanted) return truncated();
      }
    }
    if (!within_bit_depth(*frame)) {
      damage_ = fmt::format("has samples of more than {} bits", format().bits);
      return failure("{}: frame {}: is damaged: {}", name_, index_, damage_);
    }
    frame->index = index_;
    return std::optional(*std::move(frame));
  }

  [[nodiscard]] std::unexpected<Error> truncated() {
    damage_ = "the data ends within it";
    ended_ = true;
    return failure("{}: frame {}: is truncated: the data ends within it", name_, index_);
  }

  BufferedSource source_;
  std::string name_;
  FramePool pool_;
  OnDamage on_damage_;
  Losses losses_;
  std::string damage_;  // of the last frame read, if OnDamage::skip can pass over it
  bool ended_ = false;  // inside a frame
  std::int64_t index_ = 0;
  std::optional<std::int64_t> hint_;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<FrameReader>> open_y4m_reader(std::unique_ptr<ByteSource> source,
                                                     const ReaderOptions& options) {
  const std::string name = source->name();
  // FFmpeg's demuxers can read the same pipe if it has a file name.
  const std::string_view way_out =
      name == "standard input"
          ? "give y4m, as 'ffmpeg -f yuv4mpegpipe' writes it, or name another kind of video /dev/stdin"
          : "give y4m, as 'ffmpeg -f yuv4mpegpipe' writes it";
  BufferedSource buffered(std::move(source));
  const Result<std::optional<std::string>> line = buffered.read_line();
  if (!line) return std::unexpected(line.error());
  if (!*line) {
    const Result<bool> ended = buffered.at_end();
    if (!ended) return std::unexpected(ended.error());
    if (*ended) return failure("{}: is empty or ends within the y4m header; give y4m", name);
  }
  if (!*line || !(*line)->starts_with("YUV4MPEG2"))
    return failure("{}: is not y4m: no 'YUV4MPEG2' header line; {}", name, way_out);
  const Result<FrameFormat> format = parse_y4m_header(**line);
  if (!format) return failure("{}: {}", name, format.error().message);
  if (frame_bytes(*format) > options.max_frame_bytes)
    return failure("{}: a frame of {} takes {} MiB, more than the limit of {} MiB; use a smaller video", name,
                   to_string(*format), frame_bytes(*format) >> 20, options.max_frame_bytes >> 20);
  return std::make_unique<Y4mReader>(std::move(buffered), name, *format, options.on_damage);
}

}  // namespace millrace::video
