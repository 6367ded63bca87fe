#include "millrace/model/simulation/item_order.h"

namespace millrace::model {

ItemOrder::ItemOrder(int stages, const std::vector<int>& ordered)
    : ordered_(ordered), turn_(static_cast<std::size_t>(stages), none) {}

int ItemOrder::allocate(const Item& item) {
  ++live_;
  if (free_.empty()) {
    items_.push_back(item);
    return static_cast<int>(items_.size()) - 1;
  }
  const int index = free_.back();
  free_.pop_back();
  at(index) = item;
  return index;
}

int ItemOrder::append(int token, double born_seconds) {
  const int item = allocate({.previous = last_, .token = token, .born = born_seconds});
  if (last_ != none) at(last_).next = item;
  last_ = item;
  for (const int stage : ordered_) {
    int& turn = turn_[static_cast<std::size_t>(stage)];
    if (turn == none) turn = item;
  }
  return item;
}

int ItemOrder::insert_after(int item, double born_seconds) {
  const int next = at(item).next;
  const int added = allocate({.previous = item, .next = next, .token = at(item).token, .born = born_seconds});
  at(item).next = added;
  if (next != none)
    at(next).previous = added;
  else
    last_ = added;
  // No turn changes: at stages ahead, the turn is at `item` or before it; at stages already passed, it is
  // after both.
  return added;
}

void ItemOrder::remove(int item) {
  const Item gone = at(item);
  for (const int stage : ordered_) {
    int& turn = turn_[static_cast<std::size_t>(stage)];
    if (turn == item) turn = gone.next;
  }
  if (gone.previous != none) at(gone.previous).next = gone.next;
  if (gone.next != none)
    at(gone.next).previous = gone.previous;
  else
    last_ = gone.previous;
  free_.push_back(item);
  --live_;
}

void ItemOrder::pass(int stage) {
  int& turn = turn_[static_cast<std::size_t>(stage)];
  turn = at(turn).next;
}

}  // namespace millrace::model
