// Recipe: the pieces of a segment in the archive's format.
#pragma once

#include "dedup/chunks/segment.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::dedup {

// Expected totals of the pieces.
struct RecipeBounds {
  std::uint64_t stream_offset = 0;  // of the segment
  std::uint32_t content_size = 0;   // of all pieces
  std::uint32_t literal_size = 0;   // of their new bytes
};

// Maximum length of a recipe, given that copies are not shorter than least_copy. Sizes a reader's buffers.
[[nodiscard]] constexpr std::uint32_t recipe_limit(std::uint32_t content_size) {
  return content_size / 4 + 64;
}

// docs/dedup.md describes the format.
[[nodiscard]] std::vector<std::byte> encode_recipe(std::span<const Piece> pieces,
                                                   std::uint64_t stream_offset);

// Reads and validates one piece at a time.
class RecipeReader {
 public:
  RecipeReader(std::span<const std::byte> recipe, const RecipeBounds& bounds)
      : rest_(recipe), bounds_(bounds), next_source_(bounds.stream_offset) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  // The next piece; call it only if not at_end(). It is not empty, within the bounds, and copies only earlier
  // bytes.
  [[nodiscard]] Result<Piece> next();
  // At the end: failure if the totals do not match the bounds.
  [[nodiscard]] Status check_sums() const;

 private:
  [[nodiscard]] Result<std::uint64_t> number();

  std::span<const std::byte> rest_;
  RecipeBounds bounds_;
  std::uint64_t next_source_;
  std::uint64_t content_ = 0;
  std::uint64_t literals_ = 0;
};

}  // namespace millrace::dedup
