#include "millrace/base/descriptor/full_transfer.h"

#include <cerrno>
#include <unistd.h>

namespace millrace {
namespace {

// Calls `step`, which moves some bytes starting at its argument, until `size` bytes are moved, it fails, or
// it moves none.
template <class Step> Transfer repeat(std::size_t size, const Step& step) {
  Transfer done;
  while (done.bytes < size) {
    const ssize_t count = step(done.bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) done.error = errno;
    if (count <= 0) break;
    done.bytes += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

Transfer write_all(int descriptor, std::span<const std::byte> bytes) {
  return repeat(bytes.size(), [&](std::size_t from) {
    return write(descriptor, bytes.data() + from, bytes.size() - from);
  });
}

Transfer write_all_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes) {
  return repeat(bytes.size(), [&](std::size_t from) {
    return pwrite(descriptor, bytes.data() + from, bytes.size() - from, static_cast<off_t>(offset + from));
  });
}

Transfer read_all_at(int descriptor, std::uint64_t offset, std::span<std::byte> destination) {
  return repeat(destination.size(), [&](std::size_t from) {
    return pread(descriptor, destination.data() + from, destination.size() - from,
                 static_cast<off_t>(offset + from));
  });
}

}  // namespace millrace
