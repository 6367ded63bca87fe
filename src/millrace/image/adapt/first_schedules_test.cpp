#include "millrace/image/adapt/first_schedules.h"
#include "millrace/image/adapt/kernel_build.h"
#include "millrace/image/adapt/schedule_space.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// A pipeline, and its first schedule if `is_built` says which kernels are available.
struct Beginning {
  FrameLayout layout;
  ScheduleFreedom freedom{.max_threads = 2, .isas = {machine::best_isa()}};

  explicit Beginning(const char* pipeline, int width = 352, int height = 288)
      : layout(lay_out_frame(load_pipeline(pipeline).value(), {.width = width, .height = height},
                             Planes::automatic)
                   .value()) {}

  [[nodiscard]] std::vector<Schedule> first() const {
    ScheduleGuess guess(layout, freedom, tuning::Aim::throughput);
    return first_schedules(ScheduleRules(layout, freedom), guess);
  }

  [[nodiscard]] std::optional<Schedule> opening(const std::function<bool(const Schedule&)>& is_built,
                                                const std::optional<tuning::Profile>& profile = {}) const {
    ScheduleGuess guess(layout, freedom, tuning::Aim::throughput);
    const auto opening = opening_of(first(), profile, ScheduleRules(layout, freedom), guess, is_built);
    if (!opening) return std::nullopt;
    EXPECT_TRUE(!opening->by_profile || (profile && name(opening->schedule) == profile->plan));
    return opening->schedule;
  }

  [[nodiscard]] std::string name(const Schedule& schedule) const {
    const auto space = ScheduleSpace::make(layout, freedom);
    return space->space().name_of(*space->find(schedule));
  }
};

TEST(FirstSchedules, AreDifferentCandidatesOfTheSpaceAndTheLastNeedsNoCompiler) {
  for (const char* text :
       {"@A", "@B", "@D", "blur", "rotate(30)", "yuv2rgb | curve([0, 0, 1, 0.9]) | rgb2yuv"}) {
    for (const auto& [threads, width, height] :
         {std::tuple{1, 352, 288}, {2, 1920, 1080}, {3, 96, 70}, {16, 352, 288}, {2, 64, 48}}) {
      Beginning beginning(text, width, height);
      beginning.freedom.max_threads = threads;
      const auto space = ScheduleSpace::make(beginning.layout, beginning.freedom);
      ASSERT_TRUE(space);
      std::set<int> seen;
      for (const Schedule& schedule : beginning.first()) {
        const auto candidate = space->find(schedule);
        ASSERT_TRUE(candidate) << to_string(schedule);
        EXPECT_TRUE(seen.insert(*candidate).second) << to_string(schedule);
      }
      EXPECT_TRUE(std::ranges::any_of(beginning.first(), [](const Schedule& s) { return !build_key(s); }));
    }
  }
}

TEST(FirstSchedules, ThatAreNotBuiltAreNotBegunWith) {
  const Beginning beginning("@A");
  const auto all = [](const Schedule&) { return true; };
  const auto unfused = [](const Schedule& s) { return !build_key(s); };
  EXPECT_EQ(beginning.opening(all), beginning.first().front());
  ASSERT_TRUE(beginning.opening(unfused));
  EXPECT_EQ(beginning.opening(unfused)->fusion, Fusion::none);
  EXPECT_EQ(beginning.opening([](const Schedule&) { return false; }), beginning.first().front())
      << "a stand-in runs until they are";
}

TEST(FirstSchedules, GiveWayToAPlanOfWhichTheKernelsAreThere) {
  const Beginning beginning("@A");
  const Schedule plan{.structure = Structure::backward_cached,
                      .fusion = Fusion::pointwise,
                      .tile = {128, 16},
                      .threads = 1,
                      .isa = machine::best_isa()};
  const tuning::Profile profile{.plan = beginning.name(plan), .costs = {}};
  EXPECT_EQ(beginning.opening([](const Schedule&) { return true; }, profile), plan);
  const auto other = [](const Schedule& s) { return s.structure != Structure::backward_cached; };
  EXPECT_EQ(beginning.opening(other, profile), beginning.first().front());
  const tuning::Profile stale{.plan = profile.plan + ",more=1", .costs = {}};
  EXPECT_EQ(beginning.opening([](const Schedule&) { return true; }, stale), beginning.first().front());
}

// As if the run that made the profile had no compiler, so that it knows no fused kernels.
TEST(FirstSchedules, AreBegunWithWhereTheyNeedKernelsOfWhichThePlanKnowsNothing) {
  const Beginning beginning("@A");
  const Schedule plan{.structure = Structure::sequential,
                      .fusion = Fusion::none,
                      .tile = {0, 0},
                      .threads = 1,
                      .isa = machine::best_isa()};
  const Schedule best = beginning.first().front();
  ASSERT_TRUE(build_key(best));
  const auto all = [](const Schedule&) { return true; };
  tuning::Profile profile{.plan = beginning.name(plan), .costs = {}};
  EXPECT_EQ(beginning.opening(all, profile), best);
  EXPECT_EQ(beginning.opening([](const Schedule& s) { return !build_key(s); }, profile), plan);
  Schedule like = best;
  like.threads = 1;
  like.frames_in_flight = 1;
  profile.costs = {{beginning.name(like), 1.1}};
  EXPECT_EQ(beginning.opening(all, profile), plan) << "it knows of one that needs the same kernels";
}

}  // namespace
}  // namespace millrace::image
