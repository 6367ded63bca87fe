#include "millrace/video/sequence_reader.h"

#include "millrace/base/file/input_file.h"
#include "millrace/video/ffmpeg_backend.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace millrace::video {
namespace {

class SequenceReader final : public FrameReader {
 public:
  SequenceReader(SequenceName sequence, std::int64_t first, std::int64_t last, ReaderOptions options)
      : sequence_(std::move(sequence)), first_(first), last_(last), options_(std::move(options)) {
    options_.decoder_threads = 1;  // per picture
    options_.side_streams = nullptr;
  }

  [[nodiscard]] Status open() {
    auto reader = open_picture(first_);
    if (!reader) return std::unexpected(reader.error());
    current_ = *std::move(reader);
    format_ = current_->format();
    properties_ = current_->properties();
    unread_ = current_->unread();
    return {};
  }

  [[nodiscard]] const FrameFormat& format() const override { return format_; }
  [[nodiscard]] SharedProperties properties() const override { return properties_; }
  [[nodiscard]] std::vector<std::string> unread() const override { return unread_; }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return last_ - first_ + 1; }
  [[nodiscard]] Losses losses() const override { return losses_; }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (failed_) return std::unexpected(*failed_);
    while (first_ + read_ <= last_) {
      auto frame = read(first_ + read_);
      ++read_;
      if (frame) {
        frame->index = delivered_++;
        if (format_.has_timestamps()) frame->timestamp = (read_ - 1) * ticks();
        return std::optional(*std::move(frame));
      }
      const bool skips = options_.on_damage == OnDamage::skip && frame.error().kind == ErrorKind::failure;
      if (!skips) {
        failed_ = std::move(frame.error());
        return std::unexpected(*failed_);
      }
      ++losses_.damaged;
      if (losses_.first_damage.empty()) losses_.first_damage = frame.error().message;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] Result<std::unique_ptr<FrameReader>>
  open_picture(std::int64_t number, const std::optional<EarlierFrames>& earlier = std::nullopt) const {
    auto file =
        InputFile::open(sequence_.at(number),
                        {.missing = "was there a moment ago", .directory = "give files"}, options_.stop);
    if (!file) return std::unexpected(std::move(file.error()));
    const auto backend = ffmpeg_backend();
    if (!backend) return std::unexpected(backend.error());
    return (*backend)->open_reader(*std::move(file), options_, earlier);
  }

  [[nodiscard]] Result<Frame> read(std::int64_t number) {
    if (!current_) {
      auto reader = open_picture(number, EarlierFrames{.format = format_, .count = number - first_});
      if (!reader) return std::unexpected(std::move(reader.error()));
      current_ = *std::move(reader);
    }
    const std::unique_ptr<FrameReader> picture = std::exchange(current_, nullptr);
    auto frame = picture->next();
    if (!frame) return std::unexpected(std::move(frame.error()));
    if (!*frame) return failure("{}: contains no picture", sequence_.at(number));
    note_unread(*picture);
    return **std::move(frame);
  }

  // Notes each kind of loss or change once, whichever picture had it first.
  void note_unread(const FrameReader& picture) {
    const auto kind = [](std::string_view words) { return words.substr(0, words.find(" from frame ")); };
    for (std::string& words : picture.unread())
      if (std::ranges::none_of(unread_, [&](const std::string& known) { return kind(known) == kind(words); }))
        unread_.push_back(std::move(words));
  }

  // Units of the time base from one picture to the next.
  [[nodiscard]] std::int64_t ticks() const {
    const std::int64_t up = std::int64_t{format_.rate_denominator} * format_.time_base_denominator;
    const std::int64_t down = std::int64_t{format_.rate_numerator} * format_.time_base_numerator;
    return std::max<std::int64_t>(1, up / std::max<std::int64_t>(1, down));
  }

  SequenceName sequence_;
  std::int64_t first_;
  std::int64_t last_;
  ReaderOptions options_;
  FrameFormat format_;
  SharedProperties properties_;
  std::vector<std::string> unread_;
  std::unique_ptr<FrameReader> current_;  // opened but not read yet
  std::int64_t read_ = 0;
  std::int64_t delivered_ = 0;
  Losses losses_;
  std::optional<Error> failed_;
};

}  // namespace

std::vector<std::int64_t> numbers_of(const SequenceName& sequence) {
  std::set<std::int64_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator each(sequence.folder(), error), end; !error && each != end;
       each.increment(error))
    if (const auto number = sequence.number_of(each->path().filename().string())) numbers.insert(*number);
  std::vector<std::int64_t> in_order;
  for (const std::int64_t number : numbers) {
    if (!in_order.empty() && number != in_order.back() + 1) break;
    in_order.push_back(number);
  }
  return in_order;
}

Result<std::unique_ptr<FrameReader>> open_sequence(const SequenceName& sequence, std::string_view name,
                                                   const ReaderOptions& options) {
  const std::vector<std::int64_t> numbers = numbers_of(sequence);
  if (numbers.empty())
    return usage_error("{}: no file has such a name; {} would be the first", name, sequence.at(1));
  auto reader = std::make_unique<SequenceReader>(sequence, numbers.front(), numbers.back(), options);
  if (Status opened = reader->open(); !opened) return std::unexpected(std::move(opened.error()));
  return reader;
}

}  // namespace millrace::video
