#include "millrace/video/test_source.h"

#include "millrace/base/text/parse_number.h"
#include "millrace/video/frame/frame_pool.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace millrace::video {
namespace {

// --- syntax

// Removes and returns the text before the separator, or all of it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t position = text.find(separator);
  const std::string_view head = text.substr(0, position);
  text.remove_prefix(position == std::string_view::npos ? text.size() : position + 1);
  return head;
}

bool apply_chroma(std::string_view option, FrameFormat& format) {
  static constexpr std::pair<std::string_view, Chroma> names[] = {
      {"gray", Chroma::gray}, {"420", Chroma::c420}, {"422", Chroma::c422}, {"444", Chroma::c444}};
  const bool has_bits = option.contains('p');
  const std::string_view name = take_until(option, 'p');
  const std::optional<int> bits = has_bits ? parse_number<int>(option) : 8;
  if (!bits || *bits < 8 || *bits > 16) return false;
  const auto* found = std::ranges::find(names, name, &std::pair<std::string_view, Chroma>::first);
  if (found == std::end(names)) return false;
  format.chroma = found->second;
  format.bits = *bits;
  return true;
}

bool apply_rate(std::string_view value, FrameFormat& format) {
  const bool fraction = value.contains('/');
  const std::optional<int> numerator = parse_number<int>(take_until(value, '/'));
  const std::optional<int> denominator = fraction ? parse_number<int>(value) : 1;
  if (!numerator || !denominator || *numerator < 1 || *denominator < 1) return false;
  format.rate_numerator = *numerator;
  format.rate_denominator = *denominator;
  return true;
}

bool apply_option(std::string_view option, TestSourceSpec& spec) {
  if (option == "full") {
    spec.format.range = ColorRange::full;
    return true;
  }
  if (option.starts_with("fps=")) return apply_rate(option.substr(4), spec.format);
  if (option.starts_with("seed=")) {
    const auto seed = parse_number<std::uint64_t>(option.substr(5));
    spec.seed = seed.value_or(0);
    return seed.has_value();
  }
  return apply_chroma(option, spec.format);
}

// --- picture
//
// Drawn in 16-bit integers, so that the rounding of a compiler or processor cannot show, and shifted down to
// the bit depth. Positions are in samples of the current plane. A chroma plane is the same picture at its own
// size with other gradients.

constexpr int one = 1 << 15;  // amplitude of wave()

// splitmix64 (Steele, Lea and Flood 2014): a good bijective mix of 64 bits.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// A smooth periodic wave from -one to one that approximates a sine by two parabolas. The phase is in 1/65536
// of a turn.
int wave(std::int64_t phase) {
  const int t = static_cast<int>(phase & 0xffff);
  const int half = t & 0x7fff;
  const int arch = static_cast<int>((std::int64_t{half} * (0x8000 - half)) >> 13);  // 0 to 0x8000
  return t < 0x8000 ? arch : -arch;
}

std::uint16_t clamp_level(int level) { return static_cast<std::uint16_t>(std::clamp(level, 0x0f00, 0xec00)); }

struct Box {
  int left, top, right, bottom;  // right and bottom are outside
};

Box clip(Box box, int width, int height) {
  return {std::clamp(box.left, 0, width), std::clamp(box.top, 0, height), std::clamp(box.right, 0, width),
          std::clamp(box.bottom, 0, height)};
}

class PlanePainter {
 public:
  PlanePainter(int width, int height, int plane, std::uint64_t seed)
      : width_(width), height_(height), plane_(plane), seed_(mix(seed) + static_cast<std::uint64_t>(plane)),
        background_(static_cast<std::size_t>(width) * height), canvas_(background_.size()),
        noise_(static_cast<std::size_t>(width) + noise_period) {
    for (std::size_t i = 0; i < noise_.size(); ++i)
      noise_[i] =
          static_cast<std::int16_t>(mix(seed_ ^ (i * 0x51ed27U)) % 769) - 384;  // +-1.5 codes at 8 bits
    paint_background();
  }

  void paint(std::int64_t frame, const PlaneView& target, int bits) {
    canvas_ = background_;
    paint_stripes(frame);
    paint_disc(frame);
    paint_frame(frame);
    for (int y = 0; y < height_; ++y) {
      const std::uint16_t* from = &canvas_[static_cast<std::size_t>(y) * width_];
      const std::uint64_t offset = mix(seed_ + (static_cast<std::uint64_t>(frame) << 20) + y) % noise_period;
      const std::int16_t* noise = &noise_[offset];
      if (bits == 8)
        emit_row(from, noise, target.row<std::uint8_t>(y), bits);
      else
        emit_row(from, noise, target.row<std::uint16_t>(y), bits);
    }
  }

 private:
  static constexpr std::size_t noise_period = 4096;

  std::uint16_t& at(int x, int y) { return canvas_[static_cast<std::size_t>(y) * width_ + x]; }

  template <class Sample>
  void emit_row(const std::uint16_t* from, const std::int16_t* noise, Sample* to, int bits) const {
    const int shift = 16 - bits;
    for (int x = 0; x < width_; ++x)
      to[x] = static_cast<Sample>((from[x] + noise[x]) >> shift);  // clamp_level() leaves room for the noise
  }

  void paint_background() {
    const int smaller = std::max(1, std::min(width_, height_));
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const std::int64_t u = std::int64_t{x} * 65536 / width_;
        const std::int64_t v = std::int64_t{y} * 65536 / height_;
        int level = 0x7000 + (wave(u * (1 + plane_) / 2 + v / 3) * 3) / 4 + wave(v - u / 4) / 3;
        // Fine texture in the upper right quarter: blocks of 1, 2 and 4 samples, added up.
        if (x > width_ * 5 / 8 && y < height_ * 3 / 8) {
          for (int size = 1; size <= 4; size *= 2) {
            const std::uint64_t cell = (std::uint64_t(y / size) << 32) | std::uint64_t(x / size);
            level += static_cast<int>(mix(seed_ + cell * 8 + size) % 0x1800) - 0xc00;
          }
        }
        // A fan of hard edges at every angle in the lower left quarter.
        const int dx = x - width_ / 5;
        const int dy = y - height_ * 3 / 4;
        const std::int64_t radius = std::int64_t{dx} * dx + std::int64_t{dy} * dy;
        if (radius < std::int64_t{smaller} * smaller / 36 && ((dx * 3 > dy) ^ (dy * 3 > dx) ^ (dx > -dy)))
          level = 0xd000 - level / 4;
        background_[static_cast<std::size_t>(y) * width_ + x] = clamp_level(level);
      }
    }
  }

  // Rotating stripes, one turn in 200 frames.
  void paint_stripes(std::int64_t frame) {
    const Box box = clip({width_ / 3, height_ / 5, width_ * 3 / 5, height_ * 3 / 5}, width_, height_);
    const std::int64_t turn = frame * 65536 / 200;
    const int step_x = wave(turn + 0x4000) / 10;
    const int step_y = wave(turn) / 10;
    for (int y = box.top; y < box.bottom; ++y)
      for (int x = box.left; x < box.right; ++x)
        at(x, y) = clamp_level(0x8000 + wave(std::int64_t{x} * step_x + std::int64_t{y} * step_y) * 4 / 5);
  }

  // A bright disc with a hard edge on an elliptic path.
  void paint_disc(std::int64_t frame) {
    const int radius = std::min(width_, height_) / 9;
    const int cx = width_ / 2 + static_cast<int>(std::int64_t{width_} * 3 / 8 * wave(frame * 437) / one);
    const int cy =
        height_ / 2 + static_cast<int>(std::int64_t{height_} * 3 / 8 * wave(frame * 437 + 0x4000) / one);
    const Box box = clip({cx - radius, cy - radius, cx + radius + 1, cy + radius + 1}, width_, height_);
    for (int y = box.top; y < box.bottom; ++y)
      for (int x = box.left; x < box.right; ++x)
        if (std::int64_t{x - cx} * (x - cx) + std::int64_t{y - cy} * (y - cy) <=
            std::int64_t{radius} * radius)
          at(x, y) = clamp_level(0xe000 - plane_ * 0x3000);
  }

  // A dark hollow square that moves from left to right and starts again.
  void paint_frame(std::int64_t frame) {
    const int side = std::min(width_, height_) / 4;
    const int wall = std::max(1, side / 6);
    const int left = static_cast<int>(frame * std::max(1, width_ / 90) % (width_ + side)) - side;
    const int top = height_ * 5 / 8;
    const Box box = clip({left, top, left + side, top + side}, width_, height_);
    for (int y = box.top; y < box.bottom; ++y)
      for (int x = box.left; x < box.right; ++x)
        if (x < left + wall || x >= left + side - wall || y < top + wall || y >= top + side - wall)
          at(x, y) = clamp_level(0x1800 + plane_ * 0x3800);
  }

  int width_;
  int height_;
  int plane_;
  std::uint64_t seed_;
  std::vector<std::uint16_t> background_;
  std::vector<std::uint16_t> canvas_;
  std::vector<std::int16_t> noise_;
};

class TestSource final : public FrameReader {
 public:
  explicit TestSource(const TestSourceSpec& spec) : spec_(spec), pool_(spec.format) {
    for (int plane = 0; plane < plane_count(spec.format.chroma); ++plane)
      painters_.emplace_back(plane_width(spec.format, plane), plane_height(spec.format, plane), plane,
                             spec.seed);
  }

  [[nodiscard]] const FrameFormat& format() const override { return spec_.format; }
  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override { return spec_.frames; }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (index_ == spec_.frames) return std::nullopt;
    Result<Frame> frame = pool_.acquire();
    if (!frame) return std::unexpected(std::move(frame.error()));
    for (int plane = 0; plane < frame->planes(); ++plane)
      painters_[static_cast<std::size_t>(plane)].paint(index_, frame->plane(plane), spec_.format.bits);
    frame->index = index_++;
    return std::optional(*std::move(frame));
  }

 private:
  TestSourceSpec spec_;
  FramePool pool_;
  std::vector<PlanePainter> painters_;
  std::int64_t index_ = 0;
};

}  // namespace

Result<TestSourceSpec> parse_test_source(std::string_view text) {
  static constexpr std::string_view syntax = "test:WIDTHxHEIGHT[@FRAMES][,420p10][,fps=25][,full][,seed=1]";
  std::string_view rest = text;
  if (!rest.starts_with(test_source_prefix))
    return usage_error("{}: is not a test source; write {}", text, syntax);
  rest.remove_prefix(test_source_prefix.size());

  TestSourceSpec spec;
  std::string_view size = take_until(rest, ',');
  const bool has_frames = size.contains('@');
  std::string_view dimensions = take_until(size, '@');
  const std::optional<int> width = parse_number<int>(take_until(dimensions, 'x'));
  const std::optional<int> height = parse_number<int>(dimensions);
  if (!width || !height || *width < 1 || *height < 1 || *width > max_dimension || *height > max_dimension)
    return usage_error("{}: the size is not WIDTHxHEIGHT with numbers from 1 to {}; write {}", text,
                       max_dimension, syntax);
  spec.format.width = *width;
  spec.format.height = *height;
  if (has_frames) {
    const auto frames = parse_number<std::int64_t>(size);
    // The limit keeps the phases, products of the frame number, within 64 bits.
    if (!frames || *frames < 1 || *frames > std::numeric_limits<int>::max())
      return usage_error("{}: '{}' is not a number of frames from 1 to {}; write {}", text, size,
                         std::numeric_limits<int>::max(), syntax);
    spec.frames = *frames;
  }
  while (!rest.empty()) {
    const std::string_view option = take_until(rest, ',');
    if (!apply_option(option, spec))
      return usage_error("{}: '{}' is not an option of a test source; write {}", text, option, syntax);
  }
  return spec;
}

Result<std::unique_ptr<FrameReader>> open_test_source(std::string_view text, const ReaderOptions& options) {
  const Result<TestSourceSpec> spec = parse_test_source(text);
  if (!spec) return std::unexpected(spec.error());
  if (frame_bytes(spec->format) > options.max_frame_bytes)
    return usage_error("{}: a frame takes {} MiB, more than the limit of {} MiB; ask for a smaller one", text,
                       frame_bytes(spec->format) >> 20, options.max_frame_bytes >> 20);
  return std::make_unique<TestSource>(*spec);
}

}  // namespace millrace::video
