#include "millrace/stream/strategy/work_deque.h"

#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(WorkDeque, gives_the_owner_the_last_and_thieves_the_first) {
  std::deque<Token> tokens;
  WorkDeque deque;
  for (int i = 0; i < 500; ++i)
    deque.push(&tokens.emplace_back(PayloadLayout{}));
  EXPECT_FALSE(deque.looks_empty());
  EXPECT_EQ(deque.pop(), &tokens.back());
  EXPECT_EQ(deque.steal(), &tokens.front());
  for (int i = 498; i > 0; --i)
    ASSERT_EQ(deque.pop(), &tokens[static_cast<std::size_t>(i)]);
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_EQ(deque.steal(), nullptr);
  EXPECT_TRUE(deque.looks_empty());
}

class WorkDequeWithThieves : public testing::TestWithParam<int> {};

TEST_P(WorkDequeWithThieves, hands_out_every_token_once) {
  constexpr std::size_t count = 20'000;
  std::deque<Token> tokens;
  for (std::size_t i = 0; i < count; ++i)
    tokens.emplace_back(PayloadLayout{}).index = i;
  std::vector<std::atomic<int>> taken(count);
  std::atomic<bool> over = false;
  WorkDeque deque;
  std::vector<std::jthread> thieves;
  for (int i = 0; i < GetParam(); ++i)
    thieves.emplace_back([&] {
      while (!over.load() || !deque.looks_empty())
        if (Token* const token = deque.steal()) ++taken[token->index];
    });
  std::mt19937 random(3);
  for (std::size_t pushed = 0; pushed < count;) {
    for (auto n = random() % 100; n > 0 && pushed < count; --n)
      deque.push(&tokens[pushed++]);
    for (auto n = random() % 100; n > 0; --n)
      if (Token* const token = deque.pop()) ++taken[token->index];
  }
  over = true;
  thieves.clear();
  while (Token* const token = deque.pop())
    ++taken[token->index];
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(taken[i], 1) << i;
}

INSTANTIATE_TEST_SUITE_P(thieves, WorkDequeWithThieves, testing::Values(1, 3));

}  // namespace
}  // namespace millrace::stream
