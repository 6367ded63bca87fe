#include "millrace/stream/order/cut.h"

#include <algorithm>
#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

// Tokens with the numbers 0, 0.0, 0.0.0, 0.0.1, 0.1, ...: `width` at each of three levels, in order.
class Family {
 public:
  explicit Family(std::uint64_t width) : width_(width) {
    for (std::uint64_t i = 0; i < width; ++i)
      add(nullptr, i, 0);
  }
  std::deque<Token> tokens;

 private:
  void add(Token* parent, std::uint64_t index, int level) {
    Token& token = tokens.emplace_back(PayloadLayout{});
    token.parent = parent;
    token.index = index;
    if (level == 2) return;
    for (std::uint64_t i = 0; i < width_; ++i)
      add(&token, i, level + 1);
  }
  std::uint64_t width_;
};

bool stems_from(const Token& token, const Token& ancestor) {
  for (const Token* part = &token; part; part = part->parent)
    if (part == &ancestor) return true;
  return false;
}

TEST(Cut, puts_behind_what_comes_later_but_not_what_stems_from_it) {
  Family family(3);
  for (std::size_t at = 0; at < family.tokens.size(); ++at) {
    Cut cut;
    cut.make(sequence_number(family.tokens[at]), std::nullopt);
    for (std::size_t i = 0; i < family.tokens.size(); ++i) {
      const bool later = i > at && !stems_from(family.tokens[i], family.tokens[at]);
      ASSERT_EQ(cut.puts_behind(family.tokens[i]), later)
          << to_string(sequence_number(family.tokens[at])) << ' '
          << to_string(sequence_number(family.tokens[i]));
    }
  }
}

TEST(Cut, keeps_the_first_failure_in_whatever_order_they_come) {
  Family family(3);
  std::vector<const Token*> leaves;
  for (const Token& token : family.tokens)
    if (token.parent && token.parent->parent) leaves.push_back(&token);
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<const Token*> failing = leaves;
    std::ranges::shuffle(failing, random);
    failing.resize(4);
    Cut cut;
    for (const Token* token : failing)
      cut.make(sequence_number(*token), Error{ErrorKind::failure, to_string(sequence_number(*token))});
    const auto first =
        std::ranges::min(failing, {}, [](const Token* token) { return sequence_number(*token); });
    ASSERT_FALSE(cut.status());
    EXPECT_EQ(cut.status().error().message, to_string(sequence_number(*first)));
  }
}

TEST(Cut, ignores_a_failure_behind_the_end_of_the_stream) {
  Cut cut;
  cut.make({5}, std::nullopt);
  cut.make({7}, Error{ErrorKind::failure, "late"});
  EXPECT_TRUE(cut.status());
  cut.make({5, 2}, Error{ErrorKind::failure, "within"});
  EXPECT_FALSE(cut.status());
}

TEST(Cut, puts_everything_behind_a_stop) {
  Family family(2);
  Cut cut;
  EXPECT_FALSE(cut.is_made());
  cut.stop();
  EXPECT_TRUE(cut.is_made());
  for (const Token& token : family.tokens)
    EXPECT_TRUE(cut.puts_behind(token));
  ASSERT_FALSE(cut.status());
  EXPECT_EQ(cut.status().error().kind, ErrorKind::interrupted);
}

TEST(Cut, puts_everything_behind_where_it_was_given_up_and_is_a_failure) {
  Family family(2);
  Cut cut;
  cut.give_up();
  EXPECT_TRUE(cut.is_made());
  for (const Token& token : family.tokens)
    EXPECT_TRUE(cut.puts_behind(token));
  ASSERT_FALSE(cut.status());
  EXPECT_EQ(cut.status().error().kind, ErrorKind::failure);
  EXPECT_NE(cut.cause().message.find("out of memory"), std::string::npos);
}

}  // namespace
}  // namespace millrace::stream
