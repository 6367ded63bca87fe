// Token: carries an item through the stages and marks its place in the order of the stream.
#pragma once

#include "millrace/stream/item/output_window.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace millrace::stream {

// The meeting point of an in-order stage and a token (see in_order_stage.h). It holds 0, a mark, or a token's
// address with a tag in its lowest bits.
using Slot = std::atomic<std::uintptr_t>;

// Location of a token's item: two areas of `stride` bytes, the first `offset` bytes after the token's
// address.
struct PayloadLayout {
  std::uint32_t offset = 0;
  std::uint32_t stride = 0;
};

// Sequence numbers are hierarchical. A source item has a single number. If a call emits several outputs, each
// has the number of the call's item followed by its own index, and so on. Instead of storing these paths, a
// token points to its parent, the token of the item that was split. The parent lives on, without an item,
// until all its children are gone.
//
// Ownership: `holds` counts the carrier (the thread that works on the token, or the place where it is queued
// or parked), each child, and each in-order stage that has yet to pass it. All other members belong to the
// carrier, or are constant after a split.
struct Token {
  explicit Token(PayloadLayout layout) : payload(layout) {}
  ~Token() = default;
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

  std::atomic<std::uint32_t> holds = 1;
  std::uint32_t position = 0;      // index of the stage to enter next; its input type is the item's type
  std::uint32_t next_ordinal = 0;  // the first in-order stage that has not accounted for the token
  bool admitted = false;           // the token has been admitted to the serial stage at `position`
  bool has_item = false;           // used for outputs during their call, see Emission
  std::uint8_t half = 0;           // the area that holds the item
  // The result of a wait, until the token's step continues. An output is in the other area.
  enum class Outcome : std::uint8_t { none, output, nothing, failure } outcome = Outcome::none;
  const PayloadLayout payload;
  std::uint64_t index = 0;  // the last part of the sequence number
  Token* parent = nullptr;
  Token* next = nullptr;              // link of the only list that the token can be in
  std::size_t bytes = 0;              // charged to the byte budget; 0 for children
  std::int64_t waiting_since_ns = 0;  // start of a timed wait, else 0
  std::uint32_t waits_weighed = 0;    // how many waits the timed one represents

  // Set by a split. There is one slot for each child and each in-order stage from `first_ordinal` on. The
  // slots of one stage are contiguous.
  std::uint32_t first_ordinal = 0;
  std::uint64_t children = 0;  // any_number if the split has a window
  std::unique_ptr<Slot[]> slots;
  // Set if outputs go on before the call has returned. There are then as many slots for each stage as the
  // window has places, and numbers share them.
  std::unique_ptr<OutputWindow> window;
  static constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();

  // A call reads its input from one area and builds its output in the other, so items are not moved twice.
  [[nodiscard]] void* item() { return area(half); }
  [[nodiscard]] void* other_area() { return area(half ^ 1U); }

 private:
  [[nodiscard]] void* area(std::uint32_t which) {
    return reinterpret_cast<std::byte*>(this) + payload.offset + std::size_t{which} * payload.stride;
  }
};

// Converts between a token and its address as stored in slots and states, with marks and tags.
[[nodiscard]] inline std::uintptr_t address_of(const Token& token) {
  return reinterpret_cast<std::uintptr_t>(&token);
}
[[nodiscard]] inline Token* token_at(std::uintptr_t address) {
  return reinterpret_cast<Token*>(address);  // NOLINT(performance-no-int-to-ptr): made by address_of()
}

// Whether `token` comes before `other` in the order of the stream, or descends from it. Tokens whose order is
// not decided by their numbers (the same token, or an ancestor) do not.
[[nodiscard]] inline bool is_before_or_below(const Token& token, const Token& other) {
  const auto depth_of = [](const Token* of) {
    int depth = 0;
    for (; of->parent; of = of->parent)
      ++depth;
    return depth;
  };
  const Token* a = &token;
  const Token* b = &other;
  const int below = depth_of(a) - depth_of(b);
  for (int i = below; i > 0; --i)
    a = a->parent;
  for (int i = below; i < 0; ++i)
    b = b->parent;
  if (a == b) return below > 0;
  for (; a->parent != b->parent; a = a->parent)
    b = b->parent;
  return a->index < b->index;
}

// The sequence number of the source item that the token descends from.
[[nodiscard]] inline std::uint64_t source_index(const Token& token) {
  const Token* root = &token;
  while (root->parent)
    root = root->parent;
  return root->index;
}

}  // namespace millrace::stream
