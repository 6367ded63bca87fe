// InOrderStage: admission to a stage that takes one item at a time in source order. README.md argues that it
// neither blocks nor loses a token.
#pragma once

#include "millrace/stream/item/token.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace millrace::stream {

// The stage has a turn that moves along the sequence numbers. Every number has a slot where the turn meets
// the number's token. The token arrives as an item for the stage, as absent (it ended earlier or bypasses the
// stage), or as split (into children with slots of their own). The first to arrive leaves a mark, and the
// second acts on it. So nothing waits, there is no lock, and each number costs one read-modify-write.
//
// Thread-safety: arrive() is called by the token's carrier; advance() and advance_into() by the holder of the
// turn.
class InOrderStage {
 public:
  // `end`: of a split with a window, at the number after its last child.
  enum class Arrival : std::uintptr_t { item = 0, absent = 2, split = 4, end = 6 };

  // `ordinal`: number of in-order stages before this one. At most `tokens` source numbers are in flight.
  // `alone`: one thread makes all calls.
  InOrderStage(std::uint32_t ordinal, std::size_t tokens, bool alone)
      : ordinal_(ordinal), alone_(alone), mask_(ring_size(tokens) - 1),
        ring_(std::make_unique<Slot[]>(mask_ + 1)) {
    ring_[0].store(turn, std::memory_order_relaxed);  // threads that see the ring start later
  }

  // Returns true if the turn is here. The caller then has it and must pass it on. Otherwise the token is left
  // to the thread that brings the turn, and may be gone when the call returns.
  [[nodiscard]] bool arrive(Token& token, Arrival as) {
    return arrive_at(slot_at(token.parent, token.index), token, as);
  }

  // The same for the end of a split that has a window. The turn that was here goes on behind `split`.
  [[nodiscard]] bool arrive_at_end(Token& split) {
    return arrive_at(slot_at(&split, split.window->handed_on), split, Arrival::end);
  }

  // Passes the turn on from the number (parent, index). Returns the token that waits at the new position and
  // may enter, or null if none waits there yet. `release(token)` gives back a hold of the stage.
  template <class Release>
  [[nodiscard]] Token* advance(Token* parent, std::uint64_t index, const Release& release) {
    for (;;) {
      ++index;
      while (parent && index == parent->children) {
        Token* const passed = parent;
        index = passed->index + 1;
        parent = passed->parent;
        release(passed);
      }
      Slot& slot = slot_at(parent, index);
      // acquire: pairs with the release in arrive().
      std::uintptr_t found = slot.load(std::memory_order_acquire);
      // Releases the writes of the stage's function to the thread that arrives.
      if (found == none && leave_mark(slot, turn, found)) return nullptr;
      slot.store(none, std::memory_order_relaxed);  // as in arrive()
      Token* const token = token_at(found & ~tag_bits);
      switch (static_cast<Arrival>(found & tag_bits)) {
      case Arrival::item:
        return token;
      case Arrival::absent:
        release(token);
        break;
      case Arrival::split:
        parent = token;
        index = before_first;
        break;
      case Arrival::end:
        index = token->index;
        parent = token->parent;
        release(token);
        break;
      }
    }
  }

  // Passes the turn on to the children of `split`, which arrived as split with the turn at its number.
  template <class Release> [[nodiscard]] Token* advance_into(Token& split, const Release& release) {
    return advance(&split, before_first, release);
  }

 private:
  static constexpr std::uintptr_t none = 0;
  static constexpr std::uintptr_t turn = 1;
  static constexpr std::uintptr_t tag_bits = 7;
  static constexpr std::uint64_t before_first = ~std::uint64_t{0};

  // Numbers that have been issued, from the turn's on, have not retired, because the turn has not passed
  // them. So there are at most `tokens` of them, plus one slot for the waiting turn. Numbers further apart
  // may share a slot.
  static constexpr std::size_t ring_size(std::size_t tokens) {
    std::size_t size = 1;
    while (size < tokens + 1)
      size *= 2;
    return size;
  }

  [[nodiscard]] bool arrive_at(Slot& slot, Token& token, Arrival as) {
    // acquire, here and below: the writes of the stage's previous call, on any thread.
    std::uintptr_t found = slot.load(std::memory_order_acquire);
    // Releases the token and its item to the thread that brings the turn.
    if (found == none && leave_mark(slot, address_of(token) | static_cast<std::uintptr_t>(as), found))
      return false;
    // relaxed: the slot is used again only for a number that is issued after this one has retired.
    slot.store(none, std::memory_order_relaxed);
    return true;
  }

  // Leaves the mark of the first to arrive. False if the other was faster; `found` is then its mark.
  bool leave_mark(Slot& slot, std::uintptr_t mark, std::uintptr_t& found) const {
    if (alone_) {
      slot.store(mark, std::memory_order_relaxed);
      return true;
    }
    return slot.compare_exchange_strong(found, mark, std::memory_order_release, std::memory_order_acquire);
  }

  [[nodiscard]] Slot& slot_at(Token* parent, std::uint64_t index) const {
    if (!parent) return ring_[index & mask_];
    const std::uint64_t row = ordinal_ - parent->first_ordinal;
    if (const OutputWindow* const window = parent->window.get())
      return parent->slots[row * window->places + window->place_of(index)];
    return parent->slots[row * parent->children + index];
  }

  std::uint32_t ordinal_;
  bool alone_;
  std::size_t mask_;
  std::unique_ptr<Slot[]> ring_;
};

}  // namespace millrace::stream
