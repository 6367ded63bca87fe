#include "skipline/pbm.h"

#include "skipline/file_start.h"

#include <string>
#include <string_view>

namespace millrace::skipline {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> file)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == text_.size(); }
  [[nodiscard]] std::string_view rest() const { return text_.substr(offset_); }
  char next() { return text_[offset_++]; }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    offset_ += word.size();
    return true;
  }

  // White space, and comments from # to the end of the line.
  void skip_space() {
    while (!at_end()) {
      if (text_[offset_] == '#') {
        while (!at_end() && text_[offset_] != '\n')
          ++offset_;
      } else if (is_space(text_[offset_])) {
        ++offset_;
      } else {
        return;
      }
    }
  }
  static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
  }

  // A side of the image; 0 if there is none within the limits.
  int side() {
    skip_space();
    int value = 0;
    bool is_number = false;
    while (!at_end() && text_[offset_] >= '0' && text_[offset_] <= '9') {
      is_number = true;
      value = 10 * value + (next() - '0');
      if (value > longest_side) return 0;
    }
    return is_number ? value : 0;
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
};

std::size_t raw_line_bytes(int width) { return (static_cast<std::size_t>(width) + 7) / 8; }

Status read_plain(Reader& reader, Bitmap& bitmap) {
  for (int y = 0; y < bitmap.height(); ++y) {
    for (int x = 0; x < bitmap.width(); ++x) {
      reader.skip_space();
      if (reader.at_end()) return failure("cut short in line {} of {}", y + 1, bitmap.height());
      const char digit = reader.next();
      if (digit != '0' && digit != '1') return failure("no 0 or 1 at byte {}", reader.offset() - 1);
      if (digit == '1') bitmap.set_black(x, y);
    }
  }
  return {};
}

Status read_raw(Reader& reader, Bitmap& bitmap) {
  // One white space after the height, then the bytes.
  if (reader.at_end() || !Reader::is_space(reader.next()))
    return failure("no white space after the height, at byte {}", reader.offset());
  const std::size_t stride = raw_line_bytes(bitmap.width());
  const std::string_view bytes = reader.rest();
  if (bytes.size() < stride * static_cast<std::size_t>(bitmap.height()))
    return failure("cut short in line {} of {}", bytes.size() / stride + 1, bitmap.height());
  const int used = bitmap.width() % word_bits;
  const Word last = used == 0 ? ~Word{0} : ~(~Word{0} >> used);
  for (int y = 0; y < bitmap.height(); ++y) {
    const auto line = bitmap.line(y);
    const char* in = bytes.data() + stride * static_cast<std::size_t>(y);
    for (std::size_t i = 0; i < stride; ++i)
      line[i / 8] |= Word{static_cast<unsigned char>(in[i])} << (56 - 8 * (i % 8));
    line.back() &= last;
  }
  reader.take(bytes.substr(0, stride * static_cast<std::size_t>(bitmap.height())));
  return {};
}

struct PbmHeader {
  bool plain = false;
  int width = 0;
  int height = 0;

  // The fewest bytes of all pixels: each pixel, or eight of a line, takes a byte.
  [[nodiscard]] std::size_t line_bytes() const {
    return plain ? static_cast<std::size_t>(width) : raw_line_bytes(width);
  }
  [[nodiscard]] std::size_t pixel_bytes() const { return line_bytes() * static_cast<std::size_t>(height); }
};

Result<PbmHeader> read_pbm_header(Reader& reader, std::size_t limit) {
  PbmHeader header{.plain = reader.take("P1")};
  if (!header.plain && !reader.take("P4")) return failure("no PBM image: it does not start with P1 or P4");
  header.width = reader.side();
  header.height = header.width == 0 ? 0 : reader.side();
  if (header.width == 0 || header.height == 0)
    return failure("without a size from 1 to {} at byte {}", longest_side, reader.offset());
  if (static_cast<long long>(header.width) * header.height > most_pixels)
    return failure("{}x{} pixels, more than {}", header.width, header.height, most_pixels);
  if (Status checked = check_size(header.width, header.height, limit); !checked)
    return std::unexpected(checked.error());
  return header;
}

}  // namespace

Result<std::size_t> most_pbm_bytes(std::span<const std::byte> start, std::size_t limit) {
  Reader reader(start);
  const auto header = read_pbm_header(reader, limit);
  if (!header) return std::unexpected(header.error());
  if (reader.at_end() && start.size() >= file_start_bytes)
    return failure("without a size in its first {} bytes", start.size());
  // A plain pixel is a digit and what separates it from the next: white space, and comments of some length.
  constexpr std::size_t plain_pixel = 4;
  return reader.offset() + header->pixel_bytes() * (header->plain ? plain_pixel : 1) + file_start_bytes;
}

Result<Bitmap> read_pbm(std::span<const std::byte> file, std::size_t limit) {
  Reader reader(file);
  const auto header = read_pbm_header(reader, limit);
  if (!header) return std::unexpected(header.error());
  const auto& [plain, width, height] = *header;
  // Refuses truncated files before allocating memory.
  if (reader.rest().size() < header->pixel_bytes())
    return failure("cut short in line {} of {}", reader.rest().size() / header->line_bytes() + 1, height);
  Bitmap bitmap(width, height);
  if (Status read = plain ? read_plain(reader, bitmap) : read_raw(reader, bitmap); !read)
    return std::unexpected(read.error());
  reader.skip_space();
  if (!reader.at_end()) return failure("followed by something else at byte {}", reader.offset());
  return bitmap;
}

std::vector<std::byte> write_pbm(const Bitmap& bitmap) {
  const std::string header = fmt::format("P4\n{} {}\n", bitmap.width(), bitmap.height());
  const auto start = std::as_bytes(std::span(header));
  std::vector<std::byte> file(start.begin(), start.end());
  const std::size_t stride = raw_line_bytes(bitmap.width());
  file.reserve(file.size() + stride * static_cast<std::size_t>(bitmap.height()));
  for (int y = 0; y < bitmap.height(); ++y)
    for (std::size_t i = 0; i < stride; ++i)
      file.push_back(static_cast<std::byte>(bitmap.line(y)[i / 8] >> (56 - 8 * (i % 8))));
  return file;
}

}  // namespace millrace::skipline
