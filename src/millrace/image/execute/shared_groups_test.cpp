#include "millrace/image/execute/shared_groups.h"
#include "millrace/image/pipeline/presets.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// The planes of a frame with one group per stage.
std::vector<GroupLayout> grouped(const char* pipeline, const video::FrameFormat& format) {
  const auto frame =
      lay_out_frame(load_pipeline(pipeline).value(), format, Planes::automatic, Samples::codes, format);
  EXPECT_TRUE(frame) << frame.error().message;
  std::vector<GroupLayout> planes;
  for (const PlaneLayout& plane : frame->planes)
    planes.push_back(lay_out_groups(plane, group_stages(plane, Fusion::none)));
  return planes;
}

std::size_t groups_in(const std::vector<GroupLayout>& planes) {
  std::size_t count = 0;
  for (const GroupLayout& plane : planes)
    count += plane.groups.size();
  return count;
}

constexpr video::FrameFormat format{.width = 37, .height = 29};

TEST(SharedGroups, planesThatReadOnlyThemselvesAreEachOnTheirOwn) {
  const auto planes = grouped("saturate(1.5) | flip(vertical)", format);
  const auto sets = share_groups(planes);
  ASSERT_EQ(sets.size(), 3U);
  for (std::size_t p = 0; p < sets.size(); ++p) {
    EXPECT_EQ(sets[p].planes, std::vector<std::size_t>{p});
    EXPECT_EQ(sets[p].groups.size(), planes[p].groups.size());
  }
}

TEST(SharedGroups, redGreenAndBlueAreComputedOnceForAllPlanes) {
  const auto planes = grouped("yuv2rgb | blur", format);
  const auto sets = share_groups(planes);
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].planes, (std::vector<std::size_t>{0, 1, 2}));
  // Everything before the blurred colours is shared, which is most of the work.
  EXPECT_LT(sets[0].groups.size(), groups_in(planes) / 2);
}

// One of two equal filters may be read at other places than the other, and everything between would be
// computed.
TEST(SharedGroups, equalFiltersOfOnePlaneAreEachComputed) {
  const auto planes =
      grouped("[median(2) | gaussian(3), median(2) | gaussian(3) | rotate(180)] | blend(screen)",
              {.width = 37, .height = 29, .chroma = video::Chroma::gray});
  const auto sets = share_groups(planes);
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].groups.size(), planes[0].groups.size());
  // After a filter that mixes planes, each of the two is shared separately.
  const auto mixed = grouped("yuv2rgb | [blur, blur] | blend(screen)", format);
  const auto one = grouped("yuv2rgb | [blur, median] | blend(screen)", format);
  EXPECT_EQ(share_groups(mixed)[0].groups.size(), share_groups(one)[0].groups.size());
}

TEST(SharedGroups, savePixelsWherePlanesReadTheSamePlaceAndOnlyThere) {
  const auto planes = grouped("yuv2rgb | blur | rgb2yuv", format);
  const auto sets = share_groups(planes);
  ASSERT_EQ(sets.size(), 1U);
  const Rect corner{0, 0, 4, 4};
  const Rect opposite{14, 10, 18, 14};
  EXPECT_TRUE(saves_pixels(planes, sets[0], std::vector{Rect{0, 0, 8, 8}, corner, corner}));
  EXPECT_FALSE(saves_pixels(planes, sets[0], std::vector{Rect{0, 0, 8, 8}, opposite, corner}));
  EXPECT_FALSE(saves_pixels(planes, own_groups(planes, 1), std::vector{corner}));
}

TEST(SharedGroups, everyPlaneIsMadeOnceOfWhatComesBefore) {
  for (const char* pipeline :
       {"yuv2rgb | blur", "[yuv2rgb, second | yuv2rgb(bt709) | temporal_average(2)] | blend(screen)",
        "flip(vertical)", "saturate(2)", "[yuv2rgb | rgb2yuv, blur] | blend(add)"}) {
    SCOPED_TRACE(pipeline);
    const auto planes = grouped(pipeline, format);
    std::vector<int> made(planes.size(), 0);
    for (const SharedSet& set : share_groups(planes)) {
      ASSERT_EQ(set.outputs.size(), set.planes.size());
      for (std::size_t i = 0; i < set.planes.size(); ++i) {
        const SharedGroup& output = set.groups.at(set.outputs[i]);
        EXPECT_TRUE(output.output);
        EXPECT_EQ(output.plane, set.planes[i]);
        EXPECT_EQ(output.group + 1, planes[output.plane].groups.size());
        ++made[output.plane];
      }
      for (std::size_t g = 0; g < set.groups.size(); ++g)
        for (const int input : set.groups[g].inputs)
          EXPECT_LT(input, static_cast<int>(g));
    }
    EXPECT_EQ(made, std::vector<int>(planes.size(), 1));
  }
}

TEST(SharedGroups, whatIsRequiredCoversWhatEveryReaderReads) {
  const auto planes = grouped("yuv2rgb | [blur, rotate(20)] | blend(screen)", format);
  const auto sets = share_groups(planes);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    for (const SharedSet& set : sets) {
      std::vector<Rect> rects;
      for (const std::size_t p : set.planes) {
        const Size size = planes[p].output().size();
        const auto within = [&](int length) {
          return static_cast<int>(random() % static_cast<unsigned>(length + 1));
        };
        const Rect rect{within(size.width), within(size.height), within(size.width), within(size.height)};
        rects.push_back(rect.empty() ? Rect{} : rect);
      }
      std::vector<Rect> regions(set.groups.size());
      required_of_set(planes, set, rects, regions);
      for (std::size_t i = 0; i < rects.size(); ++i)
        EXPECT_EQ(regions[set.outputs[i]], rects[i]);
      for (std::size_t g = 0; g < regions.size(); ++g) {
        const SharedGroup& shared = set.groups[g];
        const GroupReads reads = planes[shared.plane].groups[shared.group].reads(regions[g]);
        for (std::size_t b = 0; b < shared.inputs.size(); ++b) {
          if (shared.inputs[b] < 0) continue;
          EXPECT_TRUE(regions[static_cast<std::size_t>(shared.inputs[b])].contains(reads.inputs[b]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace::image
