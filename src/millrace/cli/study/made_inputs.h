// Generates inputs of studies if the user gives none: the same bytes on every machine.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <filesystem>

namespace millrace::cli {

// PNG files with coloured shapes, 0000.png and so on; width `side`, height three quarters of it.
[[nodiscard]] Status make_photos(const std::filesystem::path& folder, int count, int side);

// A file of this size with words as in logs and source code; a third of it is a repetition.
[[nodiscard]] Status make_stream(const std::filesystem::path& file, std::size_t bytes);

// A page with lines of letters made of strokes: PBM (P4), 1920x1080.
[[nodiscard]] Status make_text_image(const std::filesystem::path& file);

struct ClipSize {
  int width = 0;  // even, like the height
  int height = 0;
  int frames = 0;
};
// Y4M, 4:2:0: a picture that moves over a background, with grain.
[[nodiscard]] Status make_clip(const std::filesystem::path& file, const ClipSize& size);

}  // namespace millrace::cli
