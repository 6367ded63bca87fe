#include "millrace/cli/study/made_inputs.h"

#include "millrace/base/file/output_file.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/model/pipeline/random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

void add_number(std::string& bytes, std::uint32_t value) {  // in network byte order, as in PNG
  for (const int shift : {24, 16, 8, 0})
    bytes += static_cast<char>((value >> shift) & 0xFFU);
}

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

std::uint32_t adler_of(std::string_view bytes) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16U | low;
}

void add_chunk(std::string& file, std::string_view kind, std::string_view data) {
  add_number(file, static_cast<std::uint32_t>(data.size()));
  const std::string checked = std::string(kind) + std::string(data);
  file += checked;
  add_number(file, crc_of(checked));
}

// Uncompressed: deflate's stored blocks.
std::string zlib_stream(std::string_view data) {
  std::string bytes = "\x78\x01";
  constexpr std::size_t most = 65535;
  for (std::size_t at = 0; at < data.size(); at += most) {
    const std::string_view part = data.substr(at, most);
    const auto size = static_cast<std::uint32_t>(part.size());
    bytes += at + most >= data.size() ? '\1' : '\0';
    for (const std::uint32_t value : {size, ~size})
      for (const int shift : {0, 8})
        bytes += static_cast<char>((value >> shift) & 0xFFU);
    bytes += part;
  }
  add_number(bytes, adler_of(data));
  return bytes;
}

std::string png(int width, int height, std::uint64_t seed) {
  model::Random random(seed);
  const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
  std::vector<std::array<char, 3>> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (int shape = 0; shape < 24; ++shape) {
    const std::array colour{static_cast<char>(below(256)), static_cast<char>(below(256)),
                            static_cast<char>(below(256))};
    const int left = shape == 0 ? 0 : below(width);
    const int top = shape == 0 ? 0 : below(height);
    const int right = shape == 0 ? width : std::min(width, left + 8 + below(width / 2));
    const int bottom = shape == 0 ? height : std::min(height, top + 8 + below(height / 2));
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x) {
        auto& pixel = pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                             static_cast<std::size_t>(x)];
        for (std::size_t c = 0; c < 3; ++c)
          pixel[c] = static_cast<char>(colour[c] + (x + y) / 8);
      }
  }
  std::string rows;
  for (int y = 0; y < height; ++y) {
    rows += '\0';
    for (int x = 0; x < width; ++x) {
      const auto& pixel =
          pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
      rows.append(pixel.data(), pixel.size());
    }
  }
  std::string header;
  add_number(header, static_cast<std::uint32_t>(width));
  add_number(header, static_cast<std::uint32_t>(height));
  header += std::string_view("\x08\x02\0\0\0", 5);  // 8-bit RGB
  std::string file = "\x89PNG\r\n\x1a\n";
  add_chunk(file, "IHDR", header);
  add_chunk(file, "IDAT", zlib_stream(rows));
  add_chunk(file, "IEND", "");
  return file;
}

}  // namespace

Status make_photos(const std::filesystem::path& folder, int count, int side) {
  for (int i = 0; i < count; ++i)
    if (Status written =
            write_whole((folder / fmt::format("{:04}.png", i)).string(),
                        png(side, side * 3 / 4, static_cast<std::uint64_t>(i)), {.durable = false});
        !written)
      return written;
  return {};
}

Status make_stream(const std::filesystem::path& file, std::size_t bytes) {
  model::Random random(1);
  std::vector<std::string> words;
  for (int i = 0; i < 4000; ++i) {
    std::string word;
    for (std::uint64_t letters = 2 + random.below(9); letters > 0; --letters)
      word += static_cast<char>('a' + random.below(26));
    words.push_back(std::move(word));
  }
  std::string text;
  text.reserve(bytes + 64);
  const std::size_t fresh = bytes - bytes / 3;
  while (text.size() < fresh) {
    // Some words are frequent, most are rare.
    const double rank = random.uniform() * random.uniform() * random.uniform();
    text +=
        words[std::min(words.size() - 1, static_cast<std::size_t>(rank * static_cast<double>(words.size())))];
    text += random.below(12) == 0 ? '\n' : ' ';
  }
  text.resize(fresh);
  text += std::string(text, 0, bytes - fresh);
  return write_whole(file.string(), text, {.durable = false});
}

Status make_text_image(const std::filesystem::path& file) {
  constexpr int width = 1920;
  constexpr int height = 1080;
  constexpr int row_bytes = width / 8;
  const std::string header = fmt::format("P4\n{} {}\n", width, height);
  std::string image = header + std::string(std::size_t{row_bytes} * height, '\0');
  const auto fill = [&](int left, int top, int wide, int high) {
    for (int y = top; y < std::min(top + high, height); ++y)
      for (int x = left; x < std::min(left + wide, width); ++x) {
        char& byte = image[header.size() + static_cast<std::size_t>(y * row_bytes + x / 8)];
        byte = static_cast<char>(static_cast<unsigned char>(byte) | (0x80U >> static_cast<unsigned>(x % 8)));
      }
  };
  model::Random random(1);
  const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
  for (int top = 40; top < height - 40; top += 28)
    for (int left = 60; left < width - 60; left += 14) {
      if (below(6) == 0) continue;  // space between words
      for (int strokes = 2 + below(3); strokes > 0; --strokes) {
        if (below(2) == 0)
          fill(left + below(9), top, 2, 18);
        else
          fill(left, top + below(17), 10, 2);
      }
    }
  return write_whole(file.string(), image, {.durable = false});
}

Status make_clip(const std::filesystem::path& file, const ClipSize& size) {
  auto output = OutputFile::open(file.string(), {.durable = false});
  if (!output) return std::unexpected(output.error());
  const std::string header =
      fmt::format("YUV4MPEG2 W{} H{} F25:1 Ip A1:1 C420jpeg\n", size.width, size.height);
  Status written = (*output)->write(std::as_bytes(std::span(header)));
  model::Random random(1);
  std::string frame;
  for (int number = 0; written && number < size.frames; ++number) {
    frame = "FRAME\n";
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const int moving = ((x + 3 * number) / 16 + (y + 2 * number) / 16) % 2 == 0 ? 60 : 0;
        const bool inside = (x + 5 * number) % size.width < size.width / 2;
        const auto grain = static_cast<int>(random.bits() & 7U);
        frame += static_cast<char>(40 + x * 80 / size.width + (inside ? moving : 0) + grain);
      }
    for (int plane = 0; plane < 2; ++plane)
      for (int y = 0; y < size.height / 2; ++y)
        for (int x = 0; x < size.width / 2; ++x)
          frame += static_cast<char>(110 + (plane == 0 ? x * 30 / size.width : y * 30 / size.height));
    written = (*output)->write(std::as_bytes(std::span(frame)));
  }
  return written ? (*output)->commit() : written;
}

}  // namespace millrace::cli
