#include "millrace/stream/item/token_list.h"

#include <algorithm>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

// Compares random operations with std::deque.
TEST(TokenList, holds_what_a_deque_would) {
  std::deque<Token> tokens;
  std::vector<TokenList> lists(3);
  std::vector<std::deque<Token*>> expected(3);
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t one = random() % 3;
    const std::size_t other = (one + 1) % 3;
    TokenList& list = lists[one];
    std::deque<Token*>& same = expected[one];
    switch (random() % 8) {
    case 0:
    case 1:
      list.push_back(&tokens.emplace_back(PayloadLayout{}));
      same.push_back(&tokens.back());
      break;
    case 2:
      list.push_front(&tokens.emplace_back(PayloadLayout{}));
      same.push_front(&tokens.back());
      break;
    case 3:
    case 4:
      ASSERT_EQ(list.pop_front(), same.empty() ? nullptr : same.front());
      if (!same.empty()) same.pop_front();
      break;
    case 5:
      list.append(std::move(lists[other]));
      same.insert(same.end(), expected[other].begin(), expected[other].end());
      expected[other].clear();
      break;
    case 6:
      list.prepend(std::move(lists[other]));
      same.insert(same.begin(), expected[other].begin(), expected[other].end());
      expected[other].clear();
      break;
    default:
      list.reverse();
      std::ranges::reverse(same);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(lists[i].empty(), expected[i].empty());
      ASSERT_EQ(lists[i].front(), expected[i].empty() ? nullptr : expected[i].front());
      ASSERT_EQ(lists[i].back(), expected[i].empty() ? nullptr : expected[i].back());
    }
  }
}

}  // namespace
}  // namespace millrace::stream
