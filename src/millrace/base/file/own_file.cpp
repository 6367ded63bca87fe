#include "millrace/base/file/own_file.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace {

std::string_view reason_of(const NotOwnFile& refused) {
  switch (refused.kind) {
  case NotOwnFile::Kind::link:
    return "a link";
  case NotOwnFile::Kind::not_regular:
    return "not a regular file";
  case NotOwnFile::Kind::second_name:
    return "a file with a second name (a hard link)";
  case NotOwnFile::Kind::of_another_user:
    return "a file of another user";
  case NotOwnFile::Kind::unusable:
    break;
  }
  return "unusable";
}

std::expected<Descriptor, NotOwnFile> open_own_file(const std::filesystem::path& path, int flags) {
  using enum NotOwnFile::Kind;
  constexpr mode_t mode = 0666;
  const auto refused = [](NotOwnFile::Kind kind, int error = 0) {
    return std::unexpected(NotOwnFile{.kind = kind, .error = error});
  };
  auto file = Descriptor::owned(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode));
  if (!file.is_open() && errno == ELOOP) return refused(link);
  struct stat status{};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return refused(unusable, errno);
  if (!S_ISREG(status.st_mode)) return refused(not_regular);
  if (status.st_nlink > 1) return refused(second_name);
  if (status.st_uid != geteuid() && status.st_uid != 0) return refused(of_another_user);
  return file;
}

}  // namespace millrace
