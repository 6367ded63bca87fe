#include "millrace/base/file/with_holes.h"

#include <algorithm>
#include <cstring>

namespace millrace {
namespace {

// The first byte is zero and the range equals itself shifted by one, so all bytes are zero.
bool is_zeros(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// Bytes up to the next block boundary in the file.
std::size_t first_part(std::uint64_t position, std::size_t size) {
  return std::min(size, static_cast<std::size_t>(WithHoles::block - position % WithHoles::block));
}

}  // namespace

Status WithHoles::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t position = file_->position();
    // The longest prefix that is either all hole or all data.
    std::size_t length = first_part(position, bytes.size());
    const bool is_hole = length == block && is_zeros(bytes.first(length));
    while (length < bytes.size()) {
      const std::size_t part = first_part(position + length, bytes.size() - length);
      const bool goes_on = part == block && is_zeros(bytes.subspan(length, part));
      if (goes_on != is_hole) break;
      length += part;
    }
    if (Status done = is_hole ? file_->truncate(position + length) : file_->write(bytes.first(length)); !done)
      return done;
    bytes = bytes.subspan(length);
  }
  return {};
}

}  // namespace millrace
