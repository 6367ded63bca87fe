#include "millrace/image/adapt/schedule_guess.h"
#include "millrace/image/adapt/schedule_space.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

TEST(ScheduleSpace, everyCandidateIsASchedulePossibleHereAndNoTwoAreAlike) {
  for (const char* text : {"@A", "@B", "@D", "blur", "rotate(30)"}) {
    const auto layout = lay_out_frame(*load_pipeline(text), {.width = 352, .height = 288});
    for (int threads : {1, 2, 3, 16, 64}) {
      const auto space =
          ScheduleSpace::make(*layout, {.max_threads = threads, .isas = {machine::best_isa()}});
      ASSERT_TRUE(space) << text << ", " << threads << ": " << space.error().message;
      std::set<std::string> seen;
      for (int c = 0; c < space->size(); ++c) {
        const Schedule s = space->schedule(c);
        EXPECT_LE(s.threads, threads);
        EXPECT_LE(s.frames_in_flight, s.threads);
        EXPECT_EQ(space->find(s), c);
        EXPECT_TRUE(seen.insert(to_string(s)).second) << to_string(s);
        EXPECT_TRUE(PreparedSchedule::make(*layout, s)) << to_string(s);
      }
      ScheduleGuess guess(*layout, {.isas = {machine::best_isa()}}, tuning::Aim::throughput);
      for (int c = 0; c < space->size(); ++c)
        EXPECT_GT(guess.cost(space->schedule(c)), 0);
    }
  }
}

TEST(ScheduleSpace, whatTheUserFixedStaysFixed) {
  const auto layout = lay_out_frame(*load_pipeline("@B"), {.width = 352, .height = 288});
  for (Fusion fusion : all_fusions()) {
    const auto space = ScheduleSpace::make(*layout, {.max_threads = 4,
                                                     .isas = {machine::best_isa()},
                                                     .fusion = fusion,
                                                     .threads = 3,
                                                     .frames_in_flight = 2});
    ASSERT_TRUE(space) << name_of(fusion);
    for (int c = 0; c < space->size(); ++c) {
      EXPECT_EQ(space->schedule(c).fusion, fusion);
      EXPECT_EQ(space->schedule(c).threads, 3);
      EXPECT_EQ(space->schedule(c).frames_in_flight, 2);
    }
  }
}

TEST(ScheduleSpace, threadsAreBoundWhereThereArePusForThemAndInNoMoreWaysThanDiffer) {
  using machine::AffinityArrangement;
  const auto layout = lay_out_frame(*load_pipeline("@B"), {.width = 352, .height = 288});
  const std::vector<machine::Isa> isas{machine::Isa::avx2, machine::Isa::sse41};
  const auto space = ScheduleSpace::make(*layout, {.max_threads = 4,
                                                   .isas = isas,
                                                   .affinities = {{},
                                                                  {AffinityArrangement::pinned, 4},
                                                                  {AffinityArrangement::io_same, 4},
                                                                  {AffinityArrangement::io_diff, 3}}});
  ASSERT_TRUE(space);
  std::map<AffinityArrangement, int> most_threads;
  for (int c = 0; c < space->size(); ++c) {
    const Schedule s = space->schedule(c);
    most_threads[s.affinity] = std::max(most_threads[s.affinity], s.threads);
    if (s.affinity == AffinityArrangement::free) continue;
    EXPECT_GT(s.threads, 1);
    EXPECT_EQ(s.isa, isas.front());
    if (s.affinity != AffinityArrangement::pinned) {
      EXPECT_EQ(s.frames_in_flight, 1);
    }
  }
  EXPECT_EQ(most_threads, (std::map<AffinityArrangement, int>{{AffinityArrangement::free, 4},
                                                              {AffinityArrangement::pinned, 4},
                                                              {AffinityArrangement::io_same, 4},
                                                              {AffinityArrangement::io_diff, 3}}));
}

// The requested affinity applies to all frames in flight and instruction sets.
TEST(ScheduleSpace, anAffinityThatIsAskedForHoldsForEveryCandidate) {
  using machine::AffinityArrangement;
  const auto layout = lay_out_frame(*load_pipeline("@B"), {.width = 352, .height = 288});
  for (const AffinityArrangement asked : {AffinityArrangement::pinned, AffinityArrangement::io_same}) {
    const auto space = ScheduleSpace::make(*layout, {.max_threads = 2,
                                                     .isas = {machine::Isa::avx2, machine::Isa::sse41},
                                                     .affinities = {{asked}},
                                                     .frames_in_flight = 2});
    ASSERT_TRUE(space) << machine::name_of(asked);
    std::set<machine::Isa> isas;
    for (int c = 0; c < space->size(); ++c) {
      EXPECT_EQ(space->schedule(c).affinity, asked);
      isas.insert(space->schedule(c).isa);
    }
    EXPECT_EQ(isas.size(), 2U);
  }
}

TEST(ScheduleSpace, oneThreadMayBeBound) {
  using machine::AffinityArrangement;
  const auto layout = lay_out_frame(*load_pipeline("@B"), {.width = 352, .height = 288});
  for (const AffinityArrangement asked :
       {AffinityArrangement::pinned, AffinityArrangement::io_same, AffinityArrangement::module_diff}) {
    const auto space = ScheduleSpace::make(
        *layout, {.max_threads = 2, .isas = {machine::best_isa()}, .affinities = {{asked}}, .threads = 1});
    ASSERT_TRUE(space) << machine::name_of(asked);
    EXPECT_EQ(space->schedule(0).affinity, asked);
  }
}

// Machines with hundreds of PUs of several kinds must still be searched.
TEST(ScheduleSpace, thereIsRoomForEveryAffinityOnLargeMachines) {
  using machine::AffinityArrangement;
  const std::vector<machine::Isa> isas{machine::Isa::avx512, machine::Isa::avx2, machine::Isa::sse41};
  std::vector<machine::ArrangementLimit> affinities{{}};
  for (const AffinityArrangement arrangement :
       {AffinityArrangement::pinned, AffinityArrangement::io_same, AffinityArrangement::io_diff,
        AffinityArrangement::module_diff})
    affinities.push_back({arrangement, 510});
  for (const char* text : {"@A", "@B", "@G", "blur | median(2) | rotate(30) | sobel_x | threshold(0.2)"}) {
    const auto layout = lay_out_frame(*load_pipeline(text), {.width = 3840, .height = 2160});
    const auto space =
        ScheduleSpace::make(*layout, {.max_threads = 512, .isas = isas, .affinities = affinities});
    ASSERT_TRUE(space) << text << ": " << space.error().message;
    EXPECT_GT(space->size(), 1000);
  }
}

TEST(ScheduleSpace, candidatesThatNeedTheSameKernelsShareABuild) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 352, .height = 288});
  const auto space = ScheduleSpace::make(*layout, {.max_threads = 2, .isas = {machine::best_isa()}});
  ASSERT_TRUE(space);
  for (int c = 0; c < space->size(); ++c)
    EXPECT_EQ(space->build_of()[c] < 0, space->schedule(c).fusion == Fusion::none);
  EXPECT_LE(space->builds().size(), 4U);  // three fusions, and the stores of backward-store
}

}  // namespace
}  // namespace millrace::image
