#include "millrace/base/file/name_length.h"

#include <cerrno>
#include <climits>

#include <sys/stat.h>

namespace millrace {

Status check_name_length(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0 || errno != ENAMETOOLONG) return {};
  return usage_error("the name is too long for the file system (most allow {} bytes, {} with all folders); "
                     "choose a shorter one",
                     NAME_MAX, PATH_MAX - 1);
}

}  // namespace millrace
