#include "similar/durable_file.h"

#include "similar/descriptor.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>

#include <sys/stat.h>

namespace millrace::similar {

Result<std::optional<std::vector<std::byte>>> read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) return failure("cannot open '{}': {}", path, std::strerror(errno));
  struct stat status{};
  if (fstat(file.number(), &status) != 0) return failure("cannot read '{}': {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return failure("cannot read '{}': no regular file", path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t more = read(file.number(), bytes.data() + got, bytes.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return failure("cannot read '{}': {}", path, std::strerror(errno));
    if (more == 0) break;  // somebody makes it shorter
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string beside = path + ".new";
  const auto fail = [&](const char* how) {
    const std::string reason = std::strerror(errno);
    unlink(beside.c_str());
    return failure("cannot {} '{}': {}", how, path, reason);
  };
  {
    const Descriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.is_open()) return failure("cannot write '{}': {}", path, std::strerror(errno));
    if (!file.write_all(bytes) || fsync(file.number()) != 0) return fail("write");
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return fail("replace");
  // The name is on the disk when the folder is. Some file systems cannot flush folders; the file is whole all
  // the same.
  const std::string folder = std::filesystem::path(path).parent_path();
  const Descriptor parent(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.is_open()) static_cast<void>(fsync(parent.number()));
  return {};
}

}  // namespace millrace::similar
