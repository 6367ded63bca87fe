#include "similar/image/webp_decoder.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <webp/decode.h>
#include <webp/demux.h>

namespace millrace::similar {
namespace {

const std::uint8_t* webp_bytes(std::span<const std::byte> file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

std::size_t webp_pixels(const Image& image) { return image.rgb.size() / 3; }

// Blends colours with alpha onto white.
void lay_over_white(const std::uint8_t* rgba, Image& image) {
  constexpr unsigned opaque = 255;
  for (std::size_t i = 0; i < webp_pixels(image); ++i) {
    const unsigned alpha = rgba[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c)
      image.rgb[3 * i + c] = static_cast<std::uint8_t>(
          (rgba[4 * i + c] * alpha + opaque * (opaque - alpha) + opaque / 2) / opaque);
  }
}

struct DeleteAnimation {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

Result<Image> first_of_animation(std::span<const std::byte> file, Image image) {
  const WebPData data{webp_bytes(file), file.size()};
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) return failure("the WebP decoder is of another version");
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, DeleteAnimation> decoder(WebPAnimDecoderNew(&data, &options));
  WebPAnimInfo info;
  std::uint8_t* picture = nullptr;
  int time_ms = 0;
  if (!decoder || WebPAnimDecoderGetInfo(decoder.get(), &info) == 0 ||
      info.canvas_width != static_cast<unsigned>(image.width) ||
      info.canvas_height != static_cast<unsigned>(image.height) ||
      WebPAnimDecoderGetNext(decoder.get(), &picture, &time_ms) == 0)
    return failure("damaged: no WebP that can be decoded");
  lay_over_white(picture, image);
  return image;
}

}  // namespace

Result<Image> decode_webp(std::span<const std::byte> file, const ImageHeader& header) {
  Image image(header.width, header.height);
  if (header.animated) return first_of_animation(file, std::move(image));
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(webp_bytes(file), file.size(), &features) != VP8_STATUS_OK)
    return failure("damaged: no WebP that can be decoded");
  if (features.width != header.width || features.height != header.height)
    return failure("damaged: two sizes, {}x{} and {}x{}", header.width, header.height, features.width,
                   features.height);
  bool decoded = false;
  if (features.has_alpha != 0) {
    std::vector<std::uint8_t> rgba(4 * webp_pixels(image));
    decoded = WebPDecodeRGBAInto(webp_bytes(file), file.size(), rgba.data(), rgba.size(), 4 * header.width) !=
              nullptr;
    lay_over_white(rgba.data(), image);
  } else {
    decoded = WebPDecodeRGBInto(webp_bytes(file), file.size(), image.rgb.data(), image.rgb.size(),
                                3 * header.width) != nullptr;
  }
  if (!decoded) return failure("damaged: the WebP's picture ends too soon or cannot be decoded");
  return image;
}

}  // namespace millrace::similar
