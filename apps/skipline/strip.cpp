#include "skipline/strip.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace millrace::skipline {
namespace {

void write_number(std::vector<std::byte>& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

class NumberReader {
 public:
  explicit NumberReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Nullopt at the end of the strip, or for a number of more than 28 bits.
  std::optional<std::uint32_t> next() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 28 && offset_ < bytes_.size(); shift += 7) {
      const auto byte = std::to_integer<std::uint32_t>(bytes_[offset_++]);
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

// The first pixel at or after x of the other colour; at least the width if there is none.
int run_end(Line line, int x, int width, bool black) {
  for (; x < width; x = (x / word_bits + 1) * word_bits) {
    const Word word = line[static_cast<std::size_t>(x / word_bits)];
    const Word others = (black ? ~word : word) << (x % word_bits);
    if (others != 0) return x + std::countl_zero(others);
  }
  return width;
}

void write_runs(std::vector<std::byte>& out, Line line, int width) {
  bool black = false;
  for (int x = 0; x < width; black = !black) {
    const int end = std::min(width, run_end(line, x, width, black));
    write_number(out, static_cast<std::uint32_t>(end - x));
    x = end;
  }
}

void blacken(std::span<Word> line, int from, int to) {
  while (from < to) {
    const int bit = from % word_bits;
    const int count = std::min(word_bits - bit, to - from);
    const Word ones = count == word_bits ? ~Word{0} : ~(~Word{0} >> count);
    line[static_cast<std::size_t>(from / word_bits)] |= ones >> bit;
    from += count;
  }
}

bool has_common_difference(Line kept, Line line, Line below) {
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (((kept[i] ^ line[i]) & (kept[i] ^ below[i])) != 0) return true;
  return false;
}

}  // namespace

int difference(Line a, Line b, int range, int enough) {
  // Ring buffer of the last `count` differing pixels that are less than `range` apart. Not initialised,
  // because equal lines, the most common case, never use it.
  std::array<int, most_range> places;
  std::size_t first = 0;
  int count = 0;
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (Word left = a[i] ^ b[i]; left != 0;) {
      const int bit = std::countl_zero(left);
      left &= ~(Word{1} << (word_bits - 1 - bit));
      const int place = static_cast<int>(i) * word_bits + bit;
      for (; count > 0 && places[first] <= place - range; --count)
        first = (first + 1) % places.size();
      places[(first + static_cast<std::size_t>(count)) % places.size()] = place;
      most = std::max(most, ++count);
      if (most > enough) return most;
    }
  }
  return most;
}

std::vector<std::byte> encode_strip(const Bitmap& image, Lines lines, const Parameters& parameters) {
  std::vector<std::byte> out;
  ThresholdRule rule(parameters.variant, parameters.threshold);
  const int end = lines.first + lines.count;
  int y = lines.first;
  while (y < end) {
    const Line kept = image.line(y);
    int skipped = 0;
    while (y + skipped + 1 < end && skipped < parameters.skipped) {
      const int next = y + skipped + 1;
      const Line line = image.line(next);
      const int loss = difference(kept, line, parameters.range, rule.allowed());
      const bool goes_on = parameters.vertical_lines && loss > 0 && next + 1 < end &&
                           has_common_difference(kept, line, image.line(next + 1));
      const bool alike = loss <= rule.allowed() && !goes_on;
      rule.compared(alike ? loss : 0);
      if (!alike) break;
      ++skipped;
    }
    write_number(out, static_cast<std::uint32_t>(skipped));
    write_runs(out, kept, image.width());
    y += skipped + 1;
  }
  return out;
}

Status decode_strip(std::span<const std::byte> strip, Bitmap& image, Lines lines) {
  NumberReader reader(strip);
  const int end = lines.first + lines.count;
  for (int y = lines.first; y < end;) {
    const std::size_t start = reader.offset();
    const auto skipped = reader.next();
    if (!skipped || *skipped >= static_cast<std::uint32_t>(end - y))
      return failure("no count of skipped lines at byte {}", start);
    const auto line = image.line(y);
    bool black = false;
    for (int x = 0; x < image.width(); black = !black) {
      const std::size_t place = reader.offset();
      const auto run = reader.next();
      // Only the first run of a line that begins with black may be empty.
      if (!run || *run > static_cast<std::uint32_t>(image.width() - x) || (*run == 0 && (x > 0 || black)))
        return failure("no run of pixels at byte {}", place);
      const int run_to = x + static_cast<int>(*run);
      if (black) blacken(line, x, run_to);
      x = run_to;
    }
    for (std::uint32_t i = 1; i <= *skipped; ++i)
      std::ranges::copy(line, image.line(y + static_cast<int>(i)).begin());
    y += static_cast<int>(*skipped) + 1;
  }
  if (!reader.at_end()) return failure("unexpected data after the last line, at byte {}", reader.offset());
  return {};
}

}  // namespace millrace::skipline
