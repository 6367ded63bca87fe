#include "millrace/base/file/whole_file.h"

#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>

#include <sys/stat.h>

namespace millrace {

Result<std::vector<std::byte>> read_whole(InputFile& file) {
  constexpr std::uint64_t step = 1 << 20;
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    // Request one byte more than the file has left, to detect its end.
    bytes.resize(before + static_cast<std::size_t>(file.remaining().value_or(step) + 1));
    const auto count = file.read(std::span(bytes).subspan(before));
    if (!count) return std::unexpected(count.error());
    bytes.resize(before + *count);
    if (*count == 0) return bytes;
  }
}

Result<std::optional<std::vector<std::byte>>> read_regular_file(const std::string& path,
                                                                std::uint64_t most_bytes) {
  const auto file = Descriptor::owned(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) return failure("cannot open '{}': {}", path, system_reason(errno));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return failure("cannot read '{}': {}", path, system_reason(errno));
  if (!S_ISREG(status.st_mode)) return failure("cannot read '{}': no regular file", path);
  if (static_cast<std::uint64_t>(status.st_size) > most_bytes)
    return failure("cannot read '{}': larger than {} bytes", path, most_bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  const Transfer done = read_all_at(file.get(), 0, bytes);
  if (done.error != 0) return failure("cannot read '{}': {}", path, system_reason(done.error));
  bytes.resize(done.bytes);  // fewer if the file was shortened meanwhile
  return bytes;
}

Result<std::string> read_text(const std::string& path, std::size_t most_bytes, const InputAdvice& advice,
                              const std::stop_token& stop) {
  constexpr std::size_t step = 1 << 16;
  const auto file = InputFile::open(path, advice, stop);
  if (!file) return std::unexpected(file.error());
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + step);
    const auto count = (*file)->read(std::as_writable_bytes(std::span(text).subspan(before)));
    if (!count) return std::unexpected(count.error());
    text.resize(before + *count);
    if (text.size() > most_bytes)
      return usage_error("{}: is larger than the {} bytes allowed; is it the right file?", path, most_bytes);
    if (*count == 0) return text;
  }
}

Status write_whole(std::string_view path, std::span<const std::byte> bytes, const OutputOptions& options) {
  const auto file = OutputFile::open(path, options);
  if (!file) return std::unexpected(file.error());
  if (Status written = (*file)->write(bytes); !written) return written;
  return (*file)->commit();
}

Status write_whole(std::string_view path, std::string_view text, const OutputOptions& options) {
  return write_whole(path, std::as_bytes(std::span(text)), options);
}

}  // namespace millrace
