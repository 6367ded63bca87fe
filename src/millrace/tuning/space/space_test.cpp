#include "millrace/tuning/space/space.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

Space tiles_only_where_tiled() {
  auto space = Space::make({{"structure", {"sequential", "tiled"}}, {"tile", {"16", "32", "64"}, true}},
                           [](std::span<const int> v) { return v[0] == 1 || v[1] == 0; });
  EXPECT_TRUE(space);
  return *space;
}

TEST(Space, HoldsEachValidCombinationOnce) {
  const Space space = tiles_only_where_tiled();
  ASSERT_EQ(space.size(), 4);
  EXPECT_EQ(space.name_of(0), "structure=sequential,tile=16");
  EXPECT_EQ(space.name_of(3), "structure=tiled,tile=64");
}

TEST(Space, FindsEveryCandidateByItsNameAndValues) {
  const Space space = tiles_only_where_tiled();
  for (int c = 0; c < space.size(); ++c) {
    EXPECT_EQ(space.find(space.name_of(c)), c);
    EXPECT_EQ(space.find(space.values(c)), c);
  }
}

TEST(Space, DoesNotFindWhatIsNotInIt) {
  const Space space = tiles_only_where_tiled();
  for (const char* name :
       {"", "structure=sequential", "structure=sequential,tile=32", "structure=tiled,tile=64,x=1",
        "structure=tiled,tile=8", "tile=16,structure=tiled", "structure=tiled,tile"}) {
    EXPECT_EQ(space.find(std::string_view(name)), std::nullopt) << name;
  }
}

// Pruning does not change the candidates or their order.
TEST(Space, AsksNothingBehindABeginningThatNoCombinationHas) {
  const std::vector<Knob> knobs{{"a", {"0", "1", "2"}}, {"b", {"0", "1"}}, {"c", {"0", "1", "2", "3"}}};
  int asked = 0;
  const auto valid = [&](std::span<const int> v) {
    ++asked;
    return v[0] != 1 && (v[0] == 2) == (v[1] == 1) && v[2] != 2;
  };
  const auto whole = Space::make(knobs, valid);
  const int all = std::exchange(asked, 0);
  EXPECT_EQ(all, 24);
  std::vector<std::vector<int>> beginnings;
  const auto pruned = Space::make(knobs, valid, {}, [&](std::span<const int> first) {
    beginnings.emplace_back(first.begin(), first.end());
    return first[0] != 1 && (first.size() < 2 || (first[0] == 2) == (first[1] == 1));
  });
  ASSERT_TRUE(whole && pruned);
  EXPECT_EQ(asked, 8);
  ASSERT_EQ(pruned->size(), whole->size());
  for (int c = 0; c < whole->size(); ++c)
    EXPECT_EQ(pruned->name_of(c), whole->name_of(c));
  // Each prefix once, and no complete combination.
  EXPECT_EQ(beginnings, (std::vector<std::vector<int>>{{0}, {0, 0}, {0, 1}, {1}, {2}, {2, 0}, {2, 1}}));
}

TEST(Space, RefusesWhatCannotBeNamedOrSearched) {
  const auto all = [](std::span<const int>) { return true; };
  const auto message = [&](std::vector<Knob> knobs) {
    const auto space = Space::make(std::move(knobs), all);
    return space ? std::string("accepted") : space.error().message;
  };
  EXPECT_NE(message({}).find("at least one knob"), std::string::npos);
  EXPECT_NE(message({{"a b", {"1"}}}).find("'a b'"), std::string::npos);
  EXPECT_NE(message({{"a", {}}}).find("'a'"), std::string::npos);
  EXPECT_NE(message({{"a", {"1", "1"}}}).find("twice"), std::string::npos);
  EXPECT_NE(message({{"a", {"1"}}, {"a", {"2"}}}).find("two knobs"), std::string::npos);
  EXPECT_FALSE(Space::make({{"a", {"1"}}}, [](std::span<const int>) { return false; }));
}

}  // namespace
}  // namespace millrace::tuning
