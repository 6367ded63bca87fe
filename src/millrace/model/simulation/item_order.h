// ItemOrder: the items inside a simulated pipeline, in stream order.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::model {

// A list of the live items. The parts of a split item take its place, so the order is kept through stages
// that emit 0..n items. For each ordered stage it tracks the turn: the first item that has not passed the
// stage. Every operation takes constant time (times the number of ordered stages). Used by one thread.
class ItemOrder {
 public:
  static constexpr int none = -1;

  // stages: number of stages of the pipeline; ordered: the stages that keep the order.
  ItemOrder(int stages, const std::vector<int>& ordered);

  // Adds an item at the end of the stream. token: any number that identifies its owner.
  int append(int token, double born_seconds);
  // Inserts an item directly after `item`, with the same token.
  int insert_after(int item, double born_seconds);
  // Removes the item.
  void remove(int item);

  // The item whose turn it is at an ordered stage. none if all items have passed.
  [[nodiscard]] int turn(int stage) const { return turn_[static_cast<std::size_t>(stage)]; }
  // The item whose turn it is enters the stage.
  void pass(int stage);

  // The stage at which the item waits, or none.
  [[nodiscard]] int waits_at(int item) const { return at(item).waits_at; }
  void set_waits_at(int item, int stage) { at(item).waits_at = stage; }
  [[nodiscard]] int token(int item) const { return at(item).token; }
  [[nodiscard]] double born_seconds(int item) const { return at(item).born; }
  [[nodiscard]] std::int64_t live() const { return live_; }

 private:
  struct Item {
    int previous = none;
    int next = none;
    int waits_at = none;
    int token = 0;
    double born = 0;
  };
  [[nodiscard]] const Item& at(int item) const { return items_[static_cast<std::size_t>(item)]; }
  [[nodiscard]] Item& at(int item) { return items_[static_cast<std::size_t>(item)]; }
  int allocate(const Item& item);

  std::vector<Item> items_;
  std::vector<int> free_;
  std::vector<int> ordered_;
  std::vector<int> turn_;  // by stage; used for ordered stages
  int last_ = none;
  std::int64_t live_ = 0;
};

}  // namespace millrace::model
