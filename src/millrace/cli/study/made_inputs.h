// Inputs of studies where the user gives none: the same bytes on every machine.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <filesystem>

namespace millrace::cli {

// Pictures of coloured shapes as PNG files, 0000.png and so on, `side` pixels wide and three quarters as
// high.
[[nodiscard]] Status make_photos(const std::filesystem::path& folder, int count, int side);

// A file of so many bytes of words as logs and sources have them, a third of it a second time.
[[nodiscard]] Status make_stream(const std::filesystem::path& file, std::size_t bytes);

// A page of lines of letters, made of strokes: PBM (P4), 1920x1080.
[[nodiscard]] Status make_text_image(const std::filesystem::path& file);

struct ClipSize {
  int width = 0;  // even, as the height
  int height = 0;
  int frames = 0;
};
// Y4M, 4:2:0: a picture that moves over a background, with grain.
[[nodiscard]] Status make_clip(const std::filesystem::path& file, const ClipSize& size);

}  // namespace millrace::cli
