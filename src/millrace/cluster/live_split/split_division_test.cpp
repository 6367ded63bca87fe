#include "millrace/cluster/live_split/split_division.h"
#include "millrace/image/pipeline/pipeline_language.h"

#include <gtest/gtest.h>

namespace millrace::cluster {
namespace {

SplitWish wish_of(const char* pipeline) {
  return {.pipeline = image::parse_pipeline(pipeline).value(),
          .input = {.width = 64, .height = 48},
          .sections = 2,
          .link_bytes = 1e12};
}

TEST(SplitDivision, CutsWhereTheSectionsTakeNodesTheSame) {
  const SplitWish wish = wish_of("blur | [sobel_x, sobel_y] | magnitude | threshold(0.3) | blur");
  const SplitPieces pieces = pieces_of(wish).value();
  EXPECT_EQ(pieces.begins, (std::vector<std::size_t>{0, 1, 4, 5})) << "a fork is not divided";
  const std::vector<std::vector<double>> seconds{{1, 4, 2, 1}, {1, 4, 2, 1}};
  const DividedPipeline divided = divide(wish, pieces, seconds).value();
  ASSERT_EQ(divided.sections.size(), 2U);
  EXPECT_EQ(divided.sections[0].end, 4U);
  EXPECT_EQ(divided.sections[1].first, 4U);
  EXPECT_EQ(divided.sections[1].end, wish.pipeline.nodes.size());
  EXPECT_DOUBLE_EQ(divided.sections[0].seconds, 5);
  EXPECT_DOUBLE_EQ(divided.sections[1].seconds, 3);
  EXPECT_DOUBLE_EQ(divided.rate, 0.2);
  EXPECT_NE(divided.sections[0].node, divided.sections[1].node);
}

TEST(SplitDivision, ASlowerNodeDoesLess) {
  const SplitWish wish = wish_of("blur | sobel_x | blur | blur");
  const SplitPieces pieces = pieces_of(wish).value();
  const DividedPipeline divided =
      divide(wish, pieces, std::vector<std::vector<double>>{{1, 1, 1, 1}, {3, 3, 3, 3}}).value();
  ASSERT_EQ(divided.sections.size(), 2U);
  for (const DividedSection& each : divided.sections)
    EXPECT_DOUBLE_EQ(each.seconds, 3) << each.node;
}

TEST(SplitDivision, ToASectionComeTheFramesThatItAndThoseBehindReadBeyondTheVideo) {
  const SplitWish wish = wish_of("difference(3) | temporal_median(2)");
  const DividedPipeline divided =
      divide(wish, pieces_of(wish).value(), std::vector<std::vector<double>>{{1, 1}, {1, 1}}).value();
  ASSERT_EQ(divided.sections.size(), 2U);
  const image::NeighbouringFrames last = divided.sections[1].section.neighbours;
  EXPECT_EQ(divided.sections[0].beyond, 3 + last.before + last.after);
  EXPECT_EQ(divided.sections[1].beyond, last.before + last.after);
}

}  // namespace
}  // namespace millrace::cluster
