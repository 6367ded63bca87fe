#include "millrace/intensity/sample/program_code.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/file/system_file.h"
#include "millrace/intensity/sample/mapped_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace millrace::intensity {
namespace {

bool read_memory(pid_t thread, std::uint64_t address, CodeBytes::Page& page) {
  iovec own{.iov_base = page.data(), .iov_len = page.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  iovec others{.iov_base = reinterpret_cast<void*>(address), .iov_len = page.size()};
  return process_vm_readv(thread, &own, 1, &others, 1, 0) == static_cast<ssize_t>(page.size());
}

// The last page of a file may be partial; the rest is zero.
bool read_file(pid_t thread, std::uint64_t address, CodeBytes::Page& page) {
  const auto maps = read_system_file(fmt::format("/proc/{}/maps", thread));
  const auto file = maps ? mapped_file(*maps, address) : std::nullopt;
  if (!file) return false;
  // Opened in the program's own root. Another file may be there by now: the open does not block, and only the
  // mapped file is read.
  const auto opened =
      Descriptor::owned(open(fmt::format("/proc/{}/root{}", thread, file->path).c_str(),
                             O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));  // NOLINT(hicpp-signed-bitwise)
  struct stat status{};
  if (!opened.is_open() || fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_ino != file->inode)
    return false;
  page.fill(std::byte{0});
  return pread(opened.get(), page.data(), page.size(), static_cast<off_t>(file->offset)) > 0;
}

}  // namespace

bool read_code_page(pid_t thread, std::uint64_t address, CodeBytes::Page& page) {
  return read_memory(thread, address, page) || read_file(thread, address, page);
}

}  // namespace millrace::intensity
