#include "millrace/base/clock.h"
#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/reference_testing.h"

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::image {
namespace {

constexpr int adaptive_workers = 2;

// A stream of a few gray frames of floats, over and over, and what must come of them.
class Adaptive : public testing::Test {
 protected:
  void SetUp() override {
    auto topology = machine::Topology::live();
    ASSERT_TRUE(topology) << topology.error().message;
    topology_.emplace(std::move(*topology));
    auto pool = pool::WorkerPool::create(adaptive_workers);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = std::move(*pool);
    executor_.emplace(*pool_, library_, *topology_, topology_->cpus());
  }

  [[nodiscard]] static FrameLayout layout_of(const Pipeline& pipeline) {
    return *lay_out_frame(pipeline, {.width = 96, .height = 70, .chroma = video::Chroma::gray}, Planes::all,
                          Samples::floats);
  }

  void use(const char* pipeline) {
    pipeline_ = *load_pipeline(pipeline);
    layout_ = layout_of(pipeline_);
    source_ = PlaneBuffer({96, 70}, ElementType::f32);
    picture_ = {.size = {96, 70}, .pixels = {}};
    for (int i = 0; i < 96 * 70; ++i)
      picture_.pixels.push_back(static_cast<float>((i * 7919) % 251) / 250.0F);
    const PixelView view = source_.view();
    for (int y = 0; y < 70; ++y)
      std::memcpy(view.at(0, y), &picture_.pixels[static_cast<std::size_t>(y) * 96], 96 * sizeof(float));
    for (PlaneBuffer& destination : destinations_)
      destination = PlaneBuffer(layout_.planes[0].output.size, ElementType::f32);
    expected_ = scalar_reference(layout_.planes[0], picture_);
  }

  [[nodiscard]] AdaptiveOptions options() const {
    ScheduleFreedom freedom{.max_threads = adaptive_workers, .isas = {machine::best_isa()}};
    return {.objective = {}, .freedom = freedom, .seed = 3, .profile = std::nullopt};
  }

  [[nodiscard]] std::unique_ptr<AdaptiveScheduler> start(AdaptiveOptions options) {
    auto scheduler = AdaptiveScheduler::make(*executor_, library_, layout_, std::move(options));
    EXPECT_TRUE(scheduler) << scheduler.error().message;
    return scheduler ? std::move(*scheduler) : nullptr;
  }

  // Runs what the scheduler wants to run next and compares it with the reference. waited: seconds, by how
  // many turns the schedule in use has run before.
  void run_and_compare(AdaptiveScheduler& scheduler, double (*waited)(int) = [](int) { return 0.0; }) {
    const auto count = scheduler.prepare();
    ASSERT_TRUE(count) << count.error().message;
    std::vector<FrameTask> tasks;
    for (int f = 0; f < *count; ++f) {
      const PixelView target = destinations_[f].view();
      std::memset(target.data, 0xa5, static_cast<std::size_t>(target.stride) * target.covers.height());
      tasks.push_back({{source_.view()}, {target}});
    }
    turns_ = executor_->in_use() == before_ ? turns_ + 1 : 0;
    before_ = executor_->in_use();
    const Status done = scheduler.run(tasks, waited(turns_));
    ASSERT_TRUE(done) << done.error().message;
    frames_ += *count;
    for (const FrameTask& task : tasks) {
      const PixelView& view = task.destinations[0];
      for (int y = 0; y < expected_.size.height; ++y) {
        ASSERT_EQ(std::memcmp(view.at(0, y),
                              &expected_.pixels[static_cast<std::size_t>(y) * expected_.size.width],
                              static_cast<std::size_t>(expected_.size.width) * sizeof(float)),
                  0)
            << "row " << y << ", " << to_string(executor_->in_use());
      }
    }
  }

  std::optional<machine::Topology> topology_;
  std::unique_ptr<pool::WorkerPool> pool_;
  KernelLibrary library_;
  std::optional<Executor> executor_;
  Pipeline pipeline_;
  FrameLayout layout_;
  ScalarImage picture_;
  ScalarImage expected_;
  PlaneBuffer source_;
  PlaneBuffer destinations_[adaptive_workers];
  std::int64_t frames_ = 0;
  Schedule before_;
  int turns_ = 0;  // that it has run before
};

TEST_F(Adaptive, noPixelShowsWhatWasTriedAndWhen) {
  for (const char* pipeline : {"@A", "@B", "@E"}) {
    use(pipeline);
    const auto scheduler = start(options());
    ASSERT_TRUE(scheduler);
    // How many frames pass between two trials is a matter of time.
    const auto trials = [&] { return scheduler->tuner().record().count(tuning::EventKind::trial); };
    const std::int64_t patience_ends = now_ns() + 60'000'000'000;
    for (int i = 0; trials() < (i < 20'000 ? 10 : 1) && now_ns() < patience_ends && !HasFatalFailure(); ++i)
      run_and_compare(*scheduler);
    EXPECT_GT(trials(), 0) << pipeline;
  }
}

TEST_F(Adaptive, valuesChangeWithTheirFrameWhateverIsBeingTried) {
  use("rotate(6) | blur");
  const auto scheduler = start(options());
  ASSERT_TRUE(scheduler);
  for (int step = 0; step < 30 && !HasFatalFailure(); ++step) {
    Pipeline changed = pipeline_;
    changed.nodes[0].values[0] = 6 + 9.0 * step;
    layout_ = layout_of(changed);
    expected_ = scalar_reference(layout_.planes[0], picture_);
    scheduler->update(layout_, step % 5 == 0);
    for (int i = 0; i < 10 && !HasFatalFailure(); ++i)
      run_and_compare(*scheduler);
  }
}

TEST_F(Adaptive, aProfileIsUsedFromTheFirstFrameOn) {
  use("@A");
  AdaptiveOptions with = options();
  const Schedule wanted{.structure = Structure::sequential,
                        .fusion = Fusion::none,
                        .tile = {0, 0},
                        .threads = 1,
                        .isa = machine::best_isa()};
  const auto space = ScheduleSpace::make(layout_, with.freedom);
  ASSERT_TRUE(space);
  const auto candidate = space->find(wanted);
  ASSERT_TRUE(candidate);
  with.profile = tuning::Profile{.plan = space->space().name_of(*candidate), .costs = {}};
  const auto scheduler = start(with);
  ASSERT_TRUE(scheduler);
  EXPECT_EQ(executor_->in_use(), wanted);
  run_and_compare(*scheduler);
}

// As if its frames had taken so much longer: it loses its trial.
TEST_F(Adaptive, whatTheStreamLosesByAScheduleCountsAgainstIt) {
  use("@A");
  const auto scheduler = start(options());
  ASSERT_TRUE(scheduler);
  const Schedule first = scheduler->incumbent();
  const auto trials = [&] { return scheduler->tuner().record().count(tuning::EventKind::trial); };
  const std::int64_t patience_ends = now_ns() + 60'000'000'000;
  while (trials() < 1 && now_ns() < patience_ends && !HasFatalFailure()) {
    run_and_compare(*scheduler);
    if (executor_->in_use() != first) scheduler->charge(0.05);
  }
  EXPECT_GT(trials(), 0);
  EXPECT_EQ(scheduler->incumbent(), first);
  for (const tuning::Event& event : scheduler->tuner().record().events()) {
    if (event.kind == tuning::EventKind::trial) {
      EXPECT_GT(event.ratio, 2);
    }
  }
}

TEST_F(Adaptive, theWaitBehindAScheduleCountsAsItsLatency) {
  use("@A");
  AdaptiveOptions with = options();
  with.objective.aim = tuning::Aim::latency;
  const auto scheduler = start(with);
  ASSERT_TRUE(scheduler);
  const Schedule first = scheduler->incumbent();
  const auto trials = [&] { return scheduler->tuner().record().count(tuning::EventKind::trial); };
  const std::int64_t patience_ends = now_ns() + 60'000'000'000;
  while (trials() < 1 && now_ns() < patience_ends && !HasFatalFailure()) {
    run_and_compare(*scheduler);
    if (executor_->in_use() != first) scheduler->delay(0.05);
  }
  EXPECT_GT(trials(), 0);
  EXPECT_EQ(scheduler->incumbent(), first);
}

// Frames that were there before a schedule was switched to have waited for the one before.
TEST_F(Adaptive, whatFramesWaitedForAnotherScheduleIsNoLatencyOfTheNext) {
  use("@A");
  AdaptiveOptions with = options();
  with.objective.aim = tuning::Aim::latency;
  const auto scheduler = start(with);
  ASSERT_TRUE(scheduler);
  const Schedule first = scheduler->incumbent();
  const std::int64_t patience_ends = now_ns() + 60'000'000'000;
  while (scheduler->incumbent() == first && now_ns() < patience_ends && !HasFatalFailure()) {
    run_and_compare(*scheduler, [](int turns) { return turns < 3 ? 10.0 : 0.0; });
    if (executor_->in_use() == first) scheduler->delay(0.05);
  }
  EXPECT_NE(scheduler->incumbent(), first);
}

TEST_F(Adaptive, whatOneRunLearntIsTheStartOfTheNext) {
  use("@D");
  tuning::Profile learnt;
  {
    const auto scheduler = start(options());
    ASSERT_TRUE(scheduler);
    for (int i = 0; i < 400 && !HasFatalFailure(); ++i)
      run_and_compare(*scheduler);
    learnt = scheduler->profile();
    EXPECT_EQ(learnt.plan, scheduler->space().space().name_of(scheduler->tuner().incumbent()));
  }
  AdaptiveOptions with = options();
  with.profile = learnt;
  const auto second = start(with);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->space().space().name_of(second->tuner().incumbent()), learnt.plan);
}

std::int64_t resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

// Over the whole space in a random order, as no search would.
TEST_F(Adaptive, twoThousandSwitchesLeaveNoTraceInMemoryOrPixels) {
  use("@B");
  ScheduleFreedom freedom{.max_threads = adaptive_workers, .isas = {machine::best_isa()}};
  const auto space = ScheduleSpace::make(layout_, freedom);
  ASSERT_TRUE(space);
  for (const KernelBuild& build : space->builds()) {
    for (const KernelSpec& spec : build.specs)
      ASSERT_TRUE(library_.wait(spec, build.isa));
  }
  ASSERT_TRUE(executor_->set(layout_, space->schedule(0)));
  std::int64_t settled = 0;
  std::size_t most = 0;
  unsigned random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525U + 1013904223U;
    const Schedule schedule =
        space->schedule(static_cast<int>((random >> 8) % static_cast<unsigned>(space->size())));
    ASSERT_TRUE(executor_->use(schedule));
    ASSERT_FALSE(executor_->stand_in());
    std::vector<FrameTask> tasks;
    for (int f = 0; f < schedule.frames_in_flight; ++f)
      tasks.push_back({{source_.view()}, {destinations_[f].view()}});
    ASSERT_TRUE(executor_->run(tasks));
    const PixelView view = tasks.back().destinations[0];
    for (int y = 0; y < expected_.size.height; ++y) {
      ASSERT_EQ(std::memcmp(view.at(0, y),
                            &expected_.pixels[static_cast<std::size_t>(y) * expected_.size.width],
                            static_cast<std::size_t>(expected_.size.width) * sizeof(float)),
                0)
          << to_string(schedule);
    }
    most = std::max(most, executor_->bytes());
    if (i == 500) settled = resident_bytes();
  }
  EXPECT_LT(most, std::size_t{4} << 20);
#ifndef MILLRACE_SANITIZED  // which keeps what was freed
  EXPECT_LT(resident_bytes() - settled, 8 << 20);
#else
  static_cast<void>(settled);
#endif
}

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
      const std::vector<double> prior = space->prior(tuning::Aim::throughput);
      EXPECT_TRUE(std::ranges::all_of(prior, [](double cost) { return cost > 0; }));
    }
  }
}

// The prior orders trials, and says whether a profile from before the kernels were there is worth following.
TEST(ScheduleSpace, aPipelineOfPointsIsExpectedToRunBestAsOneKernelOverTheWholeFrame) {
  for (const bool pointwise : {true, false}) {
    const auto layout = lay_out_frame(*load_pipeline(pointwise ? "@D" : "@A"), {.width = 352, .height = 288});
    const auto space = ScheduleSpace::make(*layout, {.max_threads = 2, .isas = {machine::best_isa()}});
    ASSERT_TRUE(space);
    EXPECT_EQ(space->pointwise(), pointwise);
    const auto whole = space->find({.structure = Structure::sequential,
                                    .fusion = Fusion::pointwise,
                                    .tile = {0, 0},
                                    .threads = 2,
                                    .frames_in_flight = 2,
                                    .isa = machine::best_isa()});
    ASSERT_TRUE(whole);
    const std::vector<double> prior = space->prior(tuning::Aim::throughput);
    EXPECT_EQ(std::ranges::min(prior) == prior[static_cast<std::size_t>(*whole)], pointwise);
  }
}

TEST(ScheduleSpace, smallFramesAreExpectedToRunBestWithAFrameForEachThreadUnlessLatencyCounts) {
  for (const auto& [width, height, threads, side_by_side] : {std::tuple{352, 288, 2, 2},
                                                             {352, 288, 7, 7},
                                                             {640, 480, 2, 2},
                                                             {1280, 720, 2, 1},
                                                             {1280, 720, 16, 16},
                                                             {1920, 1080, 4, 1},
                                                             {352, 288, 1, 1}}) {
    const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = width, .height = height});
    const auto space = ScheduleSpace::make(*layout, {.max_threads = threads, .isas = {machine::best_isa()}});
    ASSERT_TRUE(space);
    EXPECT_EQ(space->first_in_flight(threads, tuning::Aim::throughput), side_by_side) << width;
    for (const tuning::Aim aim : {tuning::Aim::throughput, tuning::Aim::latency, tuning::Aim::deadline}) {
      const std::vector<double> prior = space->prior(aim);
      const int best = static_cast<int>(std::ranges::min_element(prior) - prior.begin());
      EXPECT_EQ(space->schedule(best).frames_in_flight, aim == tuning::Aim::throughput ? side_by_side : 1)
          << width << ", " << threads;
      EXPECT_TRUE(aim == tuning::Aim::throughput || space->first_in_flight(threads, aim) == 1);
    }
  }
}

TEST(ScheduleSpace, framesToBeginWithAreNoMoreThanCachesHold) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 1920, .height = 1080});
  const auto space = ScheduleSpace::make(*layout, {.max_threads = 64, .isas = {machine::best_isa()}});
  ASSERT_TRUE(space);
  EXPECT_EQ(space->first_in_flight(64, tuning::Aim::throughput), 2);
  const std::vector<double> prior = space->prior(tuning::Aim::throughput);
  const int best = static_cast<int>(std::ranges::min_element(prior) - prior.begin());
  EXPECT_LE(space->schedule(best).frames_in_flight, 2);
}

TEST(ScheduleSpace, framesToBeginWithAreAtMostThoseThatTheFreedomLeaves) {
  const auto layout = lay_out_frame(*load_pipeline("@A"), {.width = 352, .height = 288});
  for (const auto& [freedom, expected] :
       {std::pair{ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .max_frames_in_flight = 3},
                  2},
        {ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .frames_in_flight = 1}, 1},
        {ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .frames_in_flight = 5}, 5},
        {ScheduleFreedom{.max_threads = 8, .isas = {machine::best_isa()}, .threads = 4}, 4}}) {
    const auto space = ScheduleSpace::make(*layout, freedom);
    ASSERT_TRUE(space);
    const int threads = freedom.threads.value_or(freedom.max_threads);
    EXPECT_EQ(space->first_in_flight(threads, tuning::Aim::throughput), expected);
  }
}

// Fused, each plane computes what it shares with others by itself.
TEST(ScheduleSpace, tilesThatShareBetweenPlanesAreExpectedToRunBest) {
  for (const bool mixed : {true, false}) {
    const auto layout =
        lay_out_frame(*load_pipeline(mixed ? "yuv2rgb | curve([0, 0, 1, 0.9]) | rgb2yuv" : "@A"),
                      {.width = 352, .height = 288}, Planes::automatic);
    const auto space = ScheduleSpace::make(*layout, {.max_threads = 2, .isas = {machine::best_isa()}});
    ASSERT_TRUE(space);
    const std::vector<double> prior = space->prior(tuning::Aim::throughput);
    const auto expected = [&](Structure structure, Fusion fusion) {
      double least = std::numeric_limits<double>::infinity();
      for (int c = 0; c < space->size(); ++c)
        if (const Schedule s = space->schedule(c); s.structure == structure && s.fusion == fusion)
          least = std::min(least, prior[static_cast<std::size_t>(c)]);
      return least;
    };
    EXPECT_EQ(expected(Structure::tiled, Fusion::none) < expected(Structure::tiled, Fusion::pointwise),
              mixed);
    EXPECT_EQ(expected(Structure::tiled, Fusion::none) < expected(Structure::sliding, Fusion::pointwise),
              mixed);
    EXPECT_EQ(space->shares_unfused(), mixed);
  }
}

// What is turned steeply is begun with in squares, whose boxes grow least.
TEST(ScheduleSpace, wideTilesAreNotTheFirstGuessWhereTheyComputeMuchTwice) {
  constexpr std::array tiles{Size{256, 64}, Size{128, 128}};
  const auto first_of = [&](const char* text) {
    const auto layout = lay_out_frame(*load_pipeline(text), {.width = 1280, .height = 720});
    const auto space = ScheduleSpace::make(*layout, {.max_threads = 2, .isas = {machine::best_isa()}});
    EXPECT_TRUE(space);
    return space->least_work(Fusion::pointwise, tiles);
  };
  EXPECT_EQ(first_of("@C"), tiles[1]);
  EXPECT_EQ(first_of("undistort(-0.1) | rotate(45)"), tiles[1]);
  EXPECT_EQ(first_of("@A"), tiles[0]);
  EXPECT_EQ(first_of("blur"), tiles[0]);
  EXPECT_EQ(first_of("rotate(30)"), tiles[0]);  // only the conversion of codes is done twice
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

// Nothing of it is left out, however many frames are in flight and whatever the instructions.
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

// Hundreds of PUs of several kinds are no reason to search nothing.
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
  EXPECT_LE(space->builds().size(), 4U);  // three fusions, and what backward-store stores
}

}  // namespace
}  // namespace millrace::image
