#include "millrace/stream/order/in_order_stage.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

using Arrival = InOrderStage::Arrival;

// One thread plays all carriers. Numbers arrive in any order, as items, absent, or split into numbers of
// their own.
class Arrivals {
 public:
  Arrivals(std::mt19937& random, std::uint64_t roots, bool alone) : random_(random), stage_(0, roots, alone) {
    for (std::uint64_t i = 0; i < roots; ++i)
      add(nullptr, i, 0);
  }

  // Makes all tokens arrive in random order, but children after their parent.
  void run() {
    std::vector<Token*> waiting = roots_;
    while (!waiting.empty()) {
      std::swap(waiting[random_() % waiting.size()], waiting.back());
      Token* const token = waiting.back();
      waiting.pop_back();
      const Arrival as = plans_[token->position];
      if (as == Arrival::split)
        for (Token& child : tokens_)
          if (child.parent == token) waiting.push_back(&child);
      if (!stage_.arrive(*token, as)) continue;
      Token* entered = nullptr;
      if (as == Arrival::split)
        entered = stage_.advance_into(*token, released());
      else if (as == Arrival::absent)
        entered = stage_.advance(token->parent, token->index, released());
      else
        entered = token;
      for (; entered; entered = stage_.advance(entered->parent, entered->index, released()))
        entered_.push_back(entered);
    }
  }

  // Depth first.
  [[nodiscard]] std::vector<Token*> items_in_order() const {
    std::vector<Token*> result;
    for (const Token& token : tokens_)
      if (plans_[token.position] == Arrival::item) result.push_back(const_cast<Token*>(&token));
    return result;
  }
  [[nodiscard]] const std::vector<Token*>& entered() const { return entered_; }
  // Splits that were left, and absent tokens that the turn found waiting.
  [[nodiscard]] const std::vector<Token*>& given_back() const { return released_; }
  [[nodiscard]] std::size_t splits() const {
    return static_cast<std::size_t>(std::ranges::count(plans_, Arrival::split));
  }

 private:
  // `position` is the index of the token's plan. Appends in depth-first order.
  void add(Token* parent, std::uint64_t index, int depth) {
    Token& token = tokens_.emplace_back(PayloadLayout{});
    token.parent = parent;
    token.index = index;
    token.position = static_cast<std::uint32_t>(plans_.size());
    if (!parent) roots_.push_back(&token);
    const auto choice = random_() % 6;
    plans_.push_back(choice == 0               ? Arrival::absent
                     : choice < 3 && depth < 3 ? Arrival::split
                                               : Arrival::item);
    if (plans_.back() != Arrival::split) return;
    token.children = 1 + random_() % 4;
    token.slots = std::make_unique<Slot[]>(token.children);
    for (std::uint64_t i = 0; i < token.children; ++i)
      add(&token, i, depth + 1);
  }
  std::function<void(Token*)> released() {
    return [this](Token* token) { released_.push_back(token); };
  }

  std::mt19937& random_;
  InOrderStage stage_;
  std::deque<Token> tokens_;
  std::vector<Arrival> plans_;
  std::vector<Token*> roots_;
  std::vector<Token*> entered_;
  std::vector<Token*> released_;
};

class InOrder : public testing::TestWithParam<bool> {};

TEST_P(InOrder, items_enter_in_the_order_of_their_numbers_however_they_arrive) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    Arrivals arrivals(random, 1 + random() % 8, GetParam());
    arrivals.run();
    ASSERT_EQ(arrivals.entered(), arrivals.items_in_order());
  }
}

TEST_P(InOrder, every_split_is_given_back_once_and_nothing_twice) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    Arrivals arrivals(random, 1 + random() % 8, GetParam());
    arrivals.run();
    auto given = arrivals.given_back();
    std::ranges::sort(given);
    ASSERT_TRUE(std::ranges::adjacent_find(given) == given.end());
    const auto splits = std::ranges::count_if(given, [](const Token* token) { return token->children != 0; });
    ASSERT_EQ(static_cast<std::size_t>(splits), arrivals.splits());
  }
}

INSTANTIATE_TEST_SUITE_P(alone, InOrder, testing::Bool());

}  // namespace
}  // namespace millrace::stream
