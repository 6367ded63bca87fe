#include "similar/image/gif_decoder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gif_lib.h>
#include <memory>
#include <utility>
#include <vector>

namespace millrace::similar {
namespace {

constexpr std::uint8_t gif_white = 255;

// Remaining bytes of the file.
using Rest = std::span<const std::byte>;

int read_rest(GifFileType* gif, GifByteType* out, int count) {
  Rest& rest = *static_cast<Rest*>(gif->UserData);
  const std::size_t bytes = std::min(rest.size(), static_cast<std::size_t>(std::max(0, count)));
  std::ranges::transform(rest.first(bytes), out,
                         [](std::byte byte) { return std::to_integer<GifByteType>(byte); });
  rest = rest.subspan(bytes);
  return static_cast<int>(bytes);
}

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, CloseGif>;

std::unexpected<Error> gif_damage(int error) {
  const char* const why = GifErrorString(error);
  return failure("damaged: {}", why != nullptr ? why : "no GIF that can be decoded");
}

// The rows of an interlaced picture come in four passes (GIF89a, appendix E).
std::vector<int> rows_in_order(int height, bool interlaced) {
  std::vector<int> rows;
  rows.reserve(static_cast<std::size_t>(height));
  if (!interlaced) {
    for (int y = 0; y < height; ++y)
      rows.push_back(y);
    return rows;
  }
  for (const auto& [first, step] : {std::pair(0, 8), {4, 8}, {2, 4}, {1, 2}})
    for (int y = first; y < height; y += step)
      rows.push_back(y);
  return rows;
}

// Draws the picture whose description was just read.
Status draw_picture(GifFileType& gif, int transparent, Image& image) {
  const GifImageDesc& picture = gif.Image;
  const ColorMapObject* const colours = picture.ColorMap != nullptr ? picture.ColorMap : gif.SColorMap;
  if (colours == nullptr) return failure("damaged: a GIF without colours");
  if (static_cast<long long>(picture.Width) * picture.Height > most_pixels)
    return failure("damaged: a picture of {}x{} pixels", picture.Width, picture.Height);
  std::vector<GifPixelType> row(static_cast<std::size_t>(picture.Width));
  for (const int y : rows_in_order(picture.Height, picture.Interlace)) {
    if (DGifGetLine(&gif, row.data(), picture.Width) != GIF_OK) return gif_damage(gif.Error);
    const int to_y = picture.Top + y;
    if (to_y >= image.height) continue;
    const int columns = std::min(picture.Width, image.width - picture.Left);
    for (int x = 0; x < columns; ++x) {
      const int index = row[static_cast<std::size_t>(x)];
      if (index == transparent) continue;
      const GifColorType colour = index < colours->ColorCount ? colours->Colors[index] : GifColorType{};
      std::uint8_t* const pixel = image.pixel(picture.Left + x, to_y);
      pixel[0] = colour.Red;
      pixel[1] = colour.Green;
      pixel[2] = colour.Blue;
    }
  }
  return {};
}

// Reads an extension, which may specify the transparent colour.
Status pass_extension(GifFileType& gif, int& transparent) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(&gif, &code, &block) != GIF_OK) return gif_damage(gif.Error);
  GraphicsControlBlock control{};
  if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr &&
      DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
    transparent = control.TransparentColor;
  while (block != nullptr)
    if (DGifGetExtensionNext(&gif, &block) != GIF_OK) return gif_damage(gif.Error);
  return {};
}

}  // namespace

Result<Image> decode_gif(std::span<const std::byte> file, const ImageHeader& header) {
  int error = 0;
  Rest rest = file;
  const Gif gif(DGifOpen(&rest, &read_rest, &error));
  if (!gif) return gif_damage(error);
  Image image(header.width, header.height);
  std::ranges::fill(image.rgb, gif_white);
  int transparent = NO_TRANSPARENT_COLOR;
  for (;;) {
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(gif.get(), &record) != GIF_OK) return gif_damage(gif->Error);
    if (record == TERMINATE_RECORD_TYPE) return failure("damaged: a GIF without a picture");
    if (record == EXTENSION_RECORD_TYPE) {
      if (Status passed = pass_extension(*gif, transparent); !passed) return std::unexpected(passed.error());
      continue;
    }
    if (DGifGetImageDesc(gif.get()) != GIF_OK) return gif_damage(gif->Error);
    if (Status drawn = draw_picture(*gif, transparent, image); !drawn) return std::unexpected(drawn.error());
    return image;
  }
}

}  // namespace millrace::similar
