// Lists the images of a command.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::similar {

struct ImageFile {
  std::string path;  // as the user would name it
  std::string name;  // path within the folder; the given path if the file was named itself
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

struct ImageList {
  std::vector<ImageFile> files;
  std::uint64_t passed_over = 0;  // files in folders without the suffix of an image
  std::vector<std::string> unreadable_folders;
};

// Whether it ends in .jpg, .jpeg, .jpe, .jfif, .png, .gif or .webp, ignoring case.
[[nodiscard]] bool is_image_name(const std::string& path);

// The files in `folder` and its subfolders with the suffix of an image, sorted by the bytes of their names.
// Links to folders are not followed. Usage error if it is not a readable folder, or has no images.
[[nodiscard]] Result<ImageList> images_in(const std::string& folder);

// The images of the folders among `paths`, and all files among them whatever their names, in the order of
// `paths`. A missing path is kept, so that reading it fails later. Usage errors of images_in().
[[nodiscard]] Result<ImageList> images_of(const std::vector<std::string>& paths);

}  // namespace millrace::similar
