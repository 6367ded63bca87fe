// Token: what carries an item through the stages, and marks its place in the order of the stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace millrace::stream {

// A stage in order and a token meet at a slot (see in_order_stage.h). It holds 0, a mark, or a token's
// address with a tag in its lowest bits.
using Slot = std::atomic<std::uintptr_t>;

// Where a token keeps its item: two areas of `stride` bytes, the first `offset` bytes behind the token.
struct PayloadLayout {
  std::uint32_t offset = 0;
  std::uint32_t stride = 0;
};

// Sequence numbers are hierarchical: an item of the source has a number; an output of a call that emitted
// several has the number of the call's item and its own among them, and so on. Instead of storing these paths
// a token points to its parent: the token of the item that was split, which lives on, without an item, until
// all its children are gone.
//
// Ownership: `holds` counts the carrier (whoever works on the token, or the place where it is queued or
// parked), each child, and each stage in order that has yet to come past it. All other members belong to the
// carrier, or after a split are constant.
struct Token {
  explicit Token(PayloadLayout layout) : payload(layout) {}
  ~Token() = default;
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

  std::atomic<std::uint32_t> holds = 1;
  std::uint32_t position = 0;      // index of the stage to enter next; its input type is the item's type
  std::uint32_t next_ordinal = 0;  // the first stage in order that the token has not been past
  bool admitted = false;           // the serial stage at `position` belongs to this token
  bool has_item = false;           // of outputs while their call lasts, see Emission
  std::uint8_t half = 0;           // which area holds the item
  // What came of an item that waited, until the token's step goes on; an output is in the other area.
  enum class Outcome : std::uint8_t { none, output, nothing, failure } outcome = Outcome::none;
  const PayloadLayout payload;
  std::uint64_t index = 0;  // the last part of the sequence number
  Token* parent = nullptr;
  Token* next = nullptr;              // link of the one list that the token is in
  std::size_t bytes = 0;              // charged to the byte budget; 0 for children
  std::int64_t waiting_since_ns = 0;  // of waits that are traced, else 0
  std::uint32_t waits_weighed = 0;    // how many waits that one stands for

  // After a split. One slot for each child and stage in order from `first_ordinal` on, a stage's side by
  // side.
  std::uint64_t children = 0;
  std::uint32_t first_ordinal = 0;
  std::unique_ptr<Slot[]> slots;

  // A call reads its input in one area and builds its output in the other, so that no item is moved twice.
  [[nodiscard]] void* item() { return area(half); }
  [[nodiscard]] void* other_area() { return area(half ^ 1U); }

 private:
  [[nodiscard]] void* area(std::uint32_t which) {
    return reinterpret_cast<std::byte*>(this) + payload.offset + std::size_t{which} * payload.stride;
  }
};

// A token's address as it is kept in slots and states, beside marks and tags; and back.
[[nodiscard]] inline std::uintptr_t address_of(const Token& token) {
  return reinterpret_cast<std::uintptr_t>(&token);
}
[[nodiscard]] inline Token* token_at(std::uintptr_t address) {
  return reinterpret_cast<Token*>(address);  // NOLINT(performance-no-int-to-ptr): made by address_of()
}

// The sequence number of the source's item that the token stems from.
[[nodiscard]] inline std::uint64_t source_index(const Token& token) {
  const Token* root = &token;
  while (root->parent)
    root = root->parent;
  return root->index;
}

}  // namespace millrace::stream
