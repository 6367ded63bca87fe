// Writes the drawing of `millrace model` to a file.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"

#include <string>

namespace millrace::cli {

// Whether plots can be written under this name: usage error unless it ends in .svg or .png.
[[nodiscard]] Status check_plot_name(const std::string& path);

// Writes an SVG picture as it is, or, where the name ends in .png, its pixels. Pixels come from FFmpeg's SVG
// decoder, which is librsvg; failure that says so where FFmpeg was built without it, or where the file cannot
// be written. Usage error where the file exists and is not to be overwritten.
[[nodiscard]] Status write_plot(const std::string& path, const std::string& svg, Overwrite overwrite);

}  // namespace millrace::cli
