#include "millrace/stream/order/arrival_stage.h"

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(ArrivalStage, admits_in_the_order_of_arrival) {
  std::deque<Token> tokens;
  for (int i = 0; i < 5; ++i)
    tokens.emplace_back(PayloadLayout{});
  ArrivalStage stage(false);
  EXPECT_TRUE(stage.arrive(tokens[0]));
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_FALSE(stage.arrive(tokens[i]));
  EXPECT_EQ(stage.leave(), &tokens[1]);
  EXPECT_FALSE(stage.arrive(tokens[4]));
  for (std::size_t i = 2; i < 5; ++i)
    EXPECT_EQ(stage.leave(), &tokens[i]);
  EXPECT_EQ(stage.leave(), nullptr);
  EXPECT_TRUE(stage.arrive(tokens[0]));
}

TEST(ArrivalStage, admits_everybody_once_and_one_at_a_time) {
  constexpr std::size_t each = 5000;
  std::deque<Token> tokens;
  for (std::size_t i = 0; i < 3 * each; ++i)
    tokens.emplace_back(PayloadLayout{}).index = i;
  std::vector<int> entered(tokens.size(),
                           0);  // not atomic: the stage itself excludes, and the thread sanitizer checks it
  ArrivalStage stage(false);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread * each; i < (thread + 1) * each; ++i) {
        Token* token = stage.arrive(tokens[i]) ? &tokens[i] : nullptr;
        for (; token; token = stage.leave())
          ++entered[token->index];
      }
    });
  threads.clear();
  EXPECT_EQ(entered, std::vector<int>(tokens.size(), 1));
}

}  // namespace
}  // namespace millrace::stream
