#include "millrace/cli/model/model_plot.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/video/svg_picture.h"

namespace millrace::cli {

Status check_plot_name(const std::string& path) {
  if (path.ends_with(".svg") || path.ends_with(".png")) return {};
  return usage_error("--plot {} must end in .svg or .png", path);
}

Status write_plot(const std::string& path, const std::string& svg, Overwrite overwrite) {
  if (!path.ends_with(".png")) return write_whole(path, svg, {.overwrite = overwrite});
  const auto png = video::png_of_svg(svg);
  if (!png)
    return failure("cannot draw {}: {}; give --plot a name that ends in .svg", path, png.error().message);
  return write_whole(path, *png, {.overwrite = overwrite});
}

}  // namespace millrace::cli
