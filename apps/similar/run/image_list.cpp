#include "similar/run/image_list.h"

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fmt/ranges.h>
#include <sys/stat.h>

namespace millrace::similar {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> endings{".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp"};

ImageFile with_status(std::string path, std::string name) {
  struct stat status{};
  ImageFile file{.path = std::move(path), .name = std::move(name)};
  if (stat(file.path.c_str(), &status) == 0) {
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.modified_ns = nanoseconds(status.st_mtim);
  }
  return file;
}

// Adds the contents of `folder`; returns false if it cannot be read.
bool walk(const fs::path& top, const fs::path& folder, ImageList& list) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    std::error_code ignored;
    const bool is_link = entries->is_symlink(ignored);
    if (entries->is_directory(ignored)) {
      if (!is_link && !walk(top, path, list)) list.unreadable_folders.push_back(path);
    } else if (is_image_name(path)) {
      list.files.push_back(with_status(path, path.lexically_relative(top)));
    } else {
      ++list.passed_over;
    }
  }
  return !error;
}

}  // namespace

bool is_image_name(const std::string& path) {
  std::string ending = fs::path(path).extension();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(endings, ending) != endings.end();
}

Result<ImageList> images_in(const std::string& folder) {
  ImageList list;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fs::exists(folder, error) ? usage_error("'{}' is not a folder; name one with images in it", folder)
                                     : usage_error("there is no folder '{}'", folder);
  }
  if (!walk(folder, folder, list)) return usage_error("the folder '{}' cannot be read", folder);
  if (list.files.empty())
    return usage_error("'{}' has no images, that is, no files whose names end in {}", folder,
                       fmt::join(endings, ", "));
  std::ranges::sort(list.files, {}, &ImageFile::name);
  return list;
}

Result<ImageList> images_of(const std::vector<std::string>& paths) {
  ImageList all;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      all.files.push_back(with_status(path, path));
      continue;
    }
    auto list = images_in(path);
    if (!list) return list;
    std::ranges::move(list->files, std::back_inserter(all.files));
    std::ranges::move(list->unreadable_folders, std::back_inserter(all.unreadable_folders));
    all.passed_over += list->passed_over;
  }
  return all;
}

}  // namespace millrace::similar
