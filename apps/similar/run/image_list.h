// Which images a command is about.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::similar {

struct ImageFile {
  std::string path;  // as the user would name it
  std::string name;  // its path within the folder; the path itself where it was named alone
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

struct ImageList {
  std::vector<ImageFile> files;
  std::uint64_t passed_over = 0;  // files in folders whose names do not end as those of images do
  std::vector<std::string> unreadable_folders;
};

// Whether it ends in .jpg, .jpeg, .jpe, .jfif or .png, in any case.
[[nodiscard]] bool is_image_name(const std::string& path);

// The files in `folder` and the folders in it that have names of images, by name in the order of bytes. Links
// to folders are not followed. Usage error when it is no folder that can be read, or has no images.
[[nodiscard]] Result<ImageList> images_in(const std::string& folder);

// Those of the folders among `paths`, and the files among them whatever their names; in the order of `paths`.
// A path that is not there is kept, for its reading to fail. Usage error of images_in().
[[nodiscard]] Result<ImageList> images_of(const std::vector<std::string>& paths);

}  // namespace millrace::similar
