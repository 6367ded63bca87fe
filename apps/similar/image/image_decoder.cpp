#include "similar/image/image_decoder.h"

#include "similar/image/bytes.h"
#include "similar/image/gif_decoder.h"
#include "similar/image/webp_decoder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <png.h>
#include <string_view>
#include <turbojpeg.h>
#include <utility>

#include <sys/types.h>

namespace millrace::similar {
namespace {

struct EndTurboJpeg {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using TurboJpeg = std::unique_ptr<void, EndTurboJpeg>;

struct FreeTurboJpeg {
  void operator()(unsigned char* buffer) const { tjFree(buffer); }
};

const unsigned char* unsigned_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// The smallest of 1/1, 1/2, 1/4, 1/8 that leaves `least` pixels on the shorter side.
tjscalingfactor jpeg_scale(int width, int height, int least) {
  int denominator = 1;
  while (denominator < 8 && std::min(width, height) / (2 * denominator) >= least)
    denominator *= 2;
  return {1, denominator};
}

// Adobe's CMYK, the only kind found in JPEG files, stores 255 for no ink.
Image from_cmyk(int width, int height, const std::vector<unsigned char>& cmyk) {
  Image image(width, height);
  for (std::size_t i = 0; i < cmyk.size() / 4; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      image.rgb[3 * i + c] = static_cast<std::uint8_t>(cmyk[4 * i + c] * cmyk[4 * i + 3] / 255);
  return image;
}

Result<Image> decode_jpeg(std::span<const std::byte> file, const ImageHeader& header, int least) {
  const TurboJpeg decoder(tjInitDecompress());
  if (!decoder) return failure("the JPEG decoder cannot be made; is there memory?");
  const auto size = static_cast<unsigned long>(file.size());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colour_space = 0;
  if (tjDecompressHeader3(decoder.get(), unsigned_bytes(file), size, &width, &height, &subsampling,
                          &colour_space) != 0)
    return failure("damaged: {}", tjGetErrorStr2(decoder.get()));
  if (width != header.width || height != header.height)
    return failure("damaged: two sizes, {}x{} and {}x{}", header.width, header.height, width, height);
  const int channels = colour_space == TJCS_GRAY                                ? 1
                       : colour_space == TJCS_CMYK || colour_space == TJCS_YCCK ? 4
                                                                                : 3;
  if (channels != header.channels)
    return failure("damaged: two numbers of components, {} and {}", header.channels, channels);
  const tjscalingfactor scale = jpeg_scale(width, height, least);
  const int columns = TJSCALED(width, scale);
  const int rows = TJSCALED(height, scale);
  const auto decode_into = [&](unsigned char* pixels, int format) {
    // Limited, because each scan processes all coefficients but takes only a few bytes of the file.
    return tjDecompress2(decoder.get(), unsigned_bytes(file), size, pixels, columns, 0, rows, format,
                         TJFLAG_LIMITSCANS) == 0;
  };
  if (colour_space == TJCS_CMYK || colour_space == TJCS_YCCK) {
    std::vector<unsigned char> cmyk(std::size_t{4} * static_cast<std::size_t>(columns) *
                                    static_cast<std::size_t>(rows));
    if (!decode_into(cmyk.data(), TJPF_CMYK)) return failure("damaged: {}", tjGetErrorStr2(decoder.get()));
    return from_cmyk(columns, rows, cmyk);
  }
  Image image(columns, rows);
  if (!decode_into(image.rgb.data(), TJPF_RGB)) return failure("damaged: {}", tjGetErrorStr2(decoder.get()));
  return image;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// A PNG file without the chunks that do not affect its pixels, such as texts. libpng would keep any number of
// them, and a few kB in the file can take 8 MB of memory each. Chunks that affect pixels are read once.
class PixelChunks {
 public:
  explicit PixelChunks(std::span<const std::byte> file)
      : file_(file), kept_(std::min(signature, file.size())) {}

  // For fopencookie(3); `self` is a PixelChunks.
  static ssize_t read(void* self, char* buffer, std::size_t size) {
    return static_cast<ssize_t>(
        static_cast<PixelChunks*>(self)->next(std::as_writable_bytes(std::span(buffer, size))));
  }

 private:
  static constexpr std::size_t signature = 8;
  static constexpr std::size_t around_data = 12;  // length, type, and check
  static constexpr std::array<std::string_view, 7> once{"tRNS", "gAMA", "cHRM", "sRGB",
                                                        "iCCP", "sBIT", "bKGD"};

  std::size_t next(std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size() && (kept_ > 0 || find_kept())) {
      const std::size_t part = std::min(kept_, out.size() - done);
      std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(at_), part,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
      done += part;
      at_ += part;
      kept_ -= part;
    }
    return done;
  }

  // Advances to the next chunk to keep; false at the end. Data too short for a chunk is kept, so that the
  // decoder reports it.
  bool find_kept() {
    while (at_ < file_.size()) {
      const std::size_t left = file_.size() - at_;
      std::size_t size = left;
      bool keeps = true;
      if (left >= around_data) {
        size = std::min(left, around_data + std::size_t{*Bytes(file_).number(at_, 4)});
        keeps = is_kept({reinterpret_cast<const char*>(file_.data() + at_ + 4), 4});
      }
      if (keeps) {
        kept_ = size;
        return true;
      }
      at_ += size;
    }
    return false;
  }

  bool is_kept(std::string_view type) {
    const bool is_critical = (static_cast<unsigned char>(type.front()) & 0x20U) == 0;
    if (is_critical) return true;
    const auto known = std::ranges::find(once, type);
    return known != once.end() && !std::exchange(seen_[static_cast<std::size_t>(known - once.begin())], true);
  }

  std::span<const std::byte> file_;
  std::size_t at_ = 0;
  std::size_t kept_;  // bytes from at_ on
  std::array<bool, once.size()> seen_{};
};

Result<Image> decode_png(std::span<const std::byte> file, const ImageHeader& header) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> end(&png, &png_image_free);
  PixelChunks chunks(file);
  const std::unique_ptr<std::FILE, CloseFile> stream(fopencookie(
      &chunks, "r", {.read = &PixelChunks::read, .write = nullptr, .seek = nullptr, .close = nullptr}));
  if (!stream) return failure("the PNG decoder cannot be made; is there memory?");
  if (png_image_begin_read_from_stdio(&png, stream.get()) == 0) return failure("damaged: {}", png.message);
  png.format = PNG_FORMAT_RGB;
  // A PNG without gamma is treated as sRGB, with 16 bits as with 8, as in browsers.
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Image image(header.width, header.height);
  if (static_cast<int>(png.width) != header.width || static_cast<int>(png.height) != header.height)
    return failure("damaged: two sizes");
  constexpr png_color white{255, 255, 255};
  if (png_image_finish_read(&png, &white, image.rgb.data(), 0, nullptr) == 0)
    return failure("damaged: {}", png.message);
  return image;
}

constexpr std::size_t some_rows = 64;  // that decoders buffer for any image, at 4 bytes per pixel
constexpr std::size_t coefficient_bytes = 2;

std::size_t product(std::size_t a, int b, int c) {
  return a * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

}  // namespace

std::size_t decoding_bytes(const ImageHeader& header, int least) {
  const std::size_t rows = product(some_rows * 4, header.width, 1);
  if (header.format == ImageFormat::png || header.format == ImageFormat::gif)
    return product(3, header.width, header.height) + rows;
  // The decoded picture, with alpha in four bytes, is in memory besides the raster. An animation adds
  // canvases of four bytes per pixel.
  if (header.format == ImageFormat::webp)
    return product(header.animated ? 20 : 12, header.width, header.height) + rows;
  const tjscalingfactor scale = jpeg_scale(header.width, header.height, least);
  // Four channels are decoded unchanged and then converted to three.
  const std::size_t channels = header.channels > 3 ? 3 + 4 : 3;
  const std::size_t raster = product(channels, TJSCALED(header.width, scale), TJSCALED(header.height, scale));
  // Components have blocks of 8 by 8, in groups of at most 4 by 4.
  const auto whole = [](int side) { return (side + 31) / 32 * 32; };
  const std::size_t coefficients =
      header.needs_coefficients ? product(coefficient_bytes, whole(header.width), whole(header.height)) *
                                      static_cast<std::size_t>(header.channels)
                                : 0;
  return raster + coefficients + rows;
}

Result<Image> decode_image(std::span<const std::byte> file, const ImageHeader& header, int least) {
  switch (header.format) {
  case ImageFormat::jpeg:
    return decode_jpeg(file, header, least);
  case ImageFormat::png:
    return decode_png(file, header);
  case ImageFormat::gif:
    return decode_gif(file, header);
  case ImageFormat::webp:
    break;
  }
  return decode_webp(file, header);
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  // 5 to 8 swap rows and columns. After that, 2, 3, 7, 8 mirror the columns of the stored raster and 3, 4, 6,
  // 7 its rows.
  const bool swap = orientation >= 5;
  const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image turned(swap ? image.height : image.width, swap ? image.width : image.height);
  for (int y = 0; y < turned.height; ++y) {
    for (int x = 0; x < turned.width; ++x) {
      const int u = swap ? y : x;
      const int v = swap ? x : y;
      const std::uint8_t* from =
          image.pixel(mirror_x ? image.width - 1 - u : u, mirror_y ? image.height - 1 - v : v);
      std::copy_n(from, 3, turned.pixel(x, y));
    }
  }
  return turned;
}

Result<std::vector<std::byte>> encode_jpeg(const Image& image, int quality) {
  const TurboJpeg encoder(tjInitCompress());
  if (!encoder) return failure("the JPEG encoder cannot be made; is there memory?");
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  const int done = tjCompress2(encoder.get(), image.rgb.data(), image.width, 0, image.height, TJPF_RGB,
                               &buffer, &size, TJSAMP_420, quality, 0);
  const std::unique_ptr<unsigned char, FreeTurboJpeg> owned(buffer);
  if (done != 0) return failure("cannot encode a JPEG: {}", tjGetErrorStr2(encoder.get()));
  const auto* first = reinterpret_cast<const std::byte*>(buffer);
  return std::vector<std::byte>(first, first + size);
}

}  // namespace millrace::similar
