#include "similar/index/record_file.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"
#include "similar/index/byte_buffer.h"
#include "similar/index/index_file.h"
#include "similar/index/record_format.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <span>

#include <sys/stat.h>

namespace millrace::similar {
namespace {

bool is_known(std::uint32_t kind) {
  return kind >= static_cast<std::uint32_t>(RecordKind::folder) &&
         kind <= static_cast<std::uint32_t>(RecordKind::end);
}

// Reads from an open file; returns the error number.
class RecordFile {
 public:
  RecordFile(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}

  // Size of the part that read_record_file() returns.
  [[nodiscard]] int find_end(std::string_view mark, std::uint64_t& end) const {
    std::array<std::byte, first_record_offset> start{};
    std::size_t count = 0;
    if (const int error = read(0, start, count); error != 0) return error;
    end = count;
    if (!has_mark(std::span(start).first(count), mark)) return 0;
    while (end < size_) {
      std::array<std::byte, record_header_size> header{};
      if (const int error = read(end, header, count); error != 0) return error;
      ByteReader reader(std::span<const std::byte>(header).first(count));
      const auto kind = reader.number<std::uint32_t>();
      const auto length = reader.number<std::uint32_t>();
      const std::uint64_t rest = size_ - end;
      const bool sound = count == header.size() && is_known(kind) && length <= rest - count;
      end += sound ? count + length : count;
      if (!sound) break;
    }
    return 0;
  }

  [[nodiscard]] int read(std::uint64_t offset, std::span<std::byte> to, std::size_t& count) const {
    const Transfer done = read_all_at(descriptor_, offset, to);
    count = done.bytes;
    return done.error;
  }

 private:
  int descriptor_;
  std::uint64_t size_;
};

}  // namespace

Result<std::optional<std::vector<std::byte>>> read_record_file(const std::string& path,
                                                               std::string_view mark) {
  const auto file = Descriptor::owned(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) return failure("cannot open '{}': {}", path, system_reason(errno));
  return read_record_file(file.get(), path, mark);
}

Result<std::vector<std::byte>> read_record_file(int descriptor, const std::string& name,
                                                std::string_view mark) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return failure("cannot read '{}': {}", name, system_reason(errno));
  if (!S_ISREG(status.st_mode)) return failure("cannot read '{}': no regular file", name);
  const RecordFile records(descriptor, static_cast<std::uint64_t>(status.st_size));
  std::uint64_t end = 0;
  int error = records.find_end(mark, end);
  std::vector<std::byte> bytes(error == 0 ? end : 0);
  std::size_t count = 0;
  if (error == 0) error = records.read(0, bytes, count);
  if (error != 0) return failure("cannot read '{}': {}", name, system_reason(error));
  bytes.resize(count);  // fewer if the file was shortened meanwhile
  return bytes;
}

}  // namespace millrace::similar
