#include "dedup/archive/recipe.h"

#include <limits>

namespace millrace::dedup {
namespace {

constexpr unsigned bits_of_byte = 7;
constexpr std::byte more{0x80};

void put(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (; number >= std::to_integer<std::uint64_t>(more); number >>= bits_of_byte)
    bytes.push_back(static_cast<std::byte>(number) | more);
  bytes.push_back(static_cast<std::byte>(number));
}

// Maps differences near 0 of either sign to small numbers (zigzag), modulo 2^64.
std::uint64_t folded(std::uint64_t difference) {
  return (difference << 1) ^ (difference >> 63 == 0 ? 0 : ~std::uint64_t{0});
}
std::uint64_t unfolded(std::uint64_t number) {
  return (number >> 1) ^ ((number & 1) == 0 ? 0 : ~std::uint64_t{0});
}

}  // namespace

std::vector<std::byte> encode_recipe(std::span<const Piece> pieces, std::uint64_t stream_offset) {
  std::vector<std::byte> bytes;
  std::uint64_t next_source = stream_offset;
  for (const Piece& piece : pieces) {
    put(bytes, piece.literals);
    put(bytes, piece.copy);
    if (piece.copy == 0) continue;
    put(bytes, folded(piece.source - next_source));
    next_source = piece.source + piece.copy;
  }
  return bytes;
}

Result<Piece> RecipeReader::next() {
  const auto literals = number();
  const auto copy = literals ? number() : literals;
  if (!copy) return std::unexpected(copy.error());
  const std::uint64_t room = bounds_.content_size - content_;
  if (*literals > bounds_.literal_size - literals_ || *literals > room || *copy > room - *literals ||
      *literals + *copy == 0)
    return failure("its recipe does not make its {} bytes of content", bounds_.content_size);
  content_ += *literals;
  literals_ += *literals;
  Piece piece{static_cast<std::uint32_t>(*literals), static_cast<std::uint32_t>(*copy), 0};
  if (*copy == 0) return piece;
  const auto step = number();
  if (!step) return std::unexpected(step.error());
  piece.source = next_source_ + unfolded(*step);
  const std::uint64_t here = bounds_.stream_offset + content_;
  if (piece.source >= here || *copy > here - piece.source)
    return failure("it copies {} bytes from byte {} of the stream, which are not before byte {}", *copy,
                   piece.source, here);
  content_ += *copy;
  next_source_ = piece.source + *copy;
  return piece;
}

Status RecipeReader::check_sums() const {
  if (content_ == bounds_.content_size && literals_ == bounds_.literal_size) return {};
  return failure("its recipe does not make its {} bytes of content", bounds_.content_size);
}

Result<std::uint64_t> RecipeReader::number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < std::numeric_limits<std::uint64_t>::digits; shift += bits_of_byte) {
    if (rest_.empty()) return failure("its recipe is cut off");
    const std::byte next = rest_.front();
    rest_ = rest_.subspan(1);
    number |= std::to_integer<std::uint64_t>(next & ~more) << shift;
    if ((next & more) == std::byte{0}) return number;
  }
  return failure("its recipe has a number of more than 64 bits");
}

}  // namespace millrace::dedup
