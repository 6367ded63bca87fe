#include "skipline/whole_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace millrace::skipline {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

bool read_all(std::FILE* file, std::vector<std::byte>& bytes) {
  constexpr std::size_t step = 1 << 20;
  for (std::size_t got = step; got == step;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + step);
    got = std::fread(bytes.data() + before, 1, step, file);
    bytes.resize(before + got);
  }
  return std::ferror(file) == 0;
}

bool write_all(std::FILE* file, std::span<const std::byte> bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  std::vector<std::byte> bytes;
  if (path == "-") {
    if (!read_all(stdin, bytes)) return failure("cannot read standard input: {}", std::strerror(errno));
    return bytes;
  }
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file && errno == ENOENT) return usage_error("there is no file '{}'", path);
  if (!file || !read_all(file.get(), bytes))
    return failure("cannot read '{}': {}", path, std::strerror(errno));
  return bytes;
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  if (path == "-") {
    if (!write_all(stdout, bytes)) return failure("standard output cannot be written");
    return {};
  }
  const std::string part = path + ".part";
  File file(std::fopen(part.c_str(), "wbe"));
  if (!file) return failure("cannot write '{}': {}", path, std::strerror(errno));
  bool done = write_all(file.get(), bytes) && fsync(fileno(file.get())) == 0;
  done = done && std::fclose(file.release()) == 0;
  if (done && std::rename(part.c_str(), path.c_str()) == 0) return {};
  const std::string reason = std::strerror(errno);
  static_cast<void>(std::remove(part.c_str()));
  return failure("cannot write '{}': {}", path, reason);
}

}  // namespace millrace::skipline
