// Writes the plot of `millrace model` to a file.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/overwrite.h"

#include <string>

namespace millrace::cli {

// Usage error unless the name ends in .svg or .png.
[[nodiscard]] Status check_plot_name(const std::string& path);

// Writes the SVG picture as it is, or renders it if the name ends in .png. FFmpeg's SVG decoder, which is
// librsvg, renders it. Failure if FFmpeg was built without that, or if the file cannot be written. Usage
// error if the file exists and must not be overwritten.
[[nodiscard]] Status write_plot(const std::string& path, const std::string& svg, Overwrite overwrite);

}  // namespace millrace::cli
