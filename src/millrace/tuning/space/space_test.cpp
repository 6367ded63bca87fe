#include "millrace/tuning/space/space.h"

#include <algorithm>

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
