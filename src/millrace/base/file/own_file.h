// open_own_file: opens a file in which a program keeps its own state between the user's files.
//
//   auto file = open_own_file("photos.index.journal", O_RDWR | O_CREAT);
//   if (!file) return usage_error("'photos.index.journal' is {}", reason_of(file.error()));
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <expected>
#include <filesystem>
#include <string_view>

namespace millrace {

struct NotOwnFile {
  enum class Kind { link, not_regular, second_name, of_another_user, unusable };
  Kind kind = Kind::unusable;
  int error = 0;  // error number if it is unusable, for example ENOENT
};
// Continues "it is ...".
[[nodiscard]] std::string_view reason_of(const NotOwnFile& refused);

// The user did not name this file, so another user may have put something else in its place. Returns only a
// regular file with a single name that belongs to this user or root. Never follows a link as the last
// component, and never waits. `flags` as for open(), without O_TRUNC; a new file has the mode 0666 minus the
// umask.
[[nodiscard]] std::expected<Descriptor, NotOwnFile> open_own_file(const std::filesystem::path& path,
                                                                  int flags);

}  // namespace millrace
