#include "millrace/base/error/clock.h"
#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/reference_testing.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::image {
namespace {

constexpr int adaptive_workers = 2;

// Repeats a few gray frames of floats as a stream, and checks the results.
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

  [[nodiscard]] static ScheduleFreedom freedom() {
    return {.max_threads = adaptive_workers, .isas = {machine::best_isa()}};
  }

  [[nodiscard]] static AdaptiveOptions options() {
    return {.objective = {}, .freedom = freedom(), .seed = 3, .profile = std::nullopt};
  }

  void compile(const KernelBuild& build) {
    for (const KernelSpec& spec : build.specs)
      ASSERT_TRUE(library_.wait(spec, build.isa));
  }
  void build_kernels_of(const ScheduleSpace& space) {
    for (const KernelBuild& build : space.builds())
      compile(build);
  }

  [[nodiscard]] std::unique_ptr<AdaptiveScheduler> start(AdaptiveOptions options) {
    auto scheduler = AdaptiveScheduler::make(*executor_, library_, layout_, std::move(options));
    EXPECT_TRUE(scheduler) << scheduler.error().message;
    return scheduler ? std::move(*scheduler) : nullptr;
  }

  // For a stream with this many frames.
  [[nodiscard]] std::unique_ptr<AdaptiveScheduler> start_of(std::int64_t frames) {
    AdaptiveOptions with = options();
    with.frames = frames;
    return start(std::move(with));
  }

  void run_batches(AdaptiveScheduler& scheduler, int batches) {
    for (int batch = 0; batch < batches && !HasFatalFailure(); ++batch)
      run_and_compare(scheduler);
  }

  // Sets the first parameter to another value from the next frame on.
  void turn_to(double degrees, bool different, AdaptiveScheduler& scheduler) {
    update(degrees, different, scheduler);
    expected_ = scalar_reference(layout_.planes[0], picture_);
  }
  void update(double value, bool different, AdaptiveScheduler& scheduler) {
    Pipeline changed = pipeline_;
    changed.nodes[0].values[0] = value;
    layout_ = layout_of(changed);
    scheduler.update(layout_, different);
  }

  // Processes the batch that the scheduler wants to run next.
  [[nodiscard]] std::vector<FrameTask> run_batch(AdaptiveScheduler& scheduler, double (*waited)(int)) {
    const auto count = scheduler.prepare();
    EXPECT_TRUE(count) << count.error().message;
    std::vector<FrameTask> tasks;
    for (int f = 0; f < count.value_or(0); ++f) {
      const PixelView target = destinations_[f].view();
      std::memset(target.data, 0xa5, static_cast<std::size_t>(target.stride) * target.covers.height());
      tasks.push_back({{source_.view()}, {target}});
    }
    batches_ = executor_->in_use() == before_ ? batches_ + 1 : 0;
    before_ = executor_->in_use();
    const Status done = scheduler.run(tasks, waited(batches_));
    EXPECT_TRUE(done) << done.error().message;
    frames_ += std::ssize(tasks);
    return tasks;
  }

  // The same, and compares with the reference. waited: seconds, as a function of the number of batches that
  // the schedule in use has run before.
  void run_and_compare(AdaptiveScheduler& scheduler, double (*waited)(int) = [](int) { return 0.0; }) {
    const std::vector<FrameTask> tasks = run_batch(scheduler, waited);
    ASSERT_FALSE(tasks.empty());
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
  int batches_ = 0;  // that the schedule has run before
};

TEST_F(Adaptive, noPixelShowsWhatWasTriedAndWhen) {
  for (const char* pipeline : {"@A", "@B", "@E"}) {
    use(pipeline);
    const auto scheduler = start(options());
    ASSERT_TRUE(scheduler);
    // The number of frames between two trials depends on time.
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
    turn_to(6 + 9.0 * step, step % 5 == 0, *scheduler);
    run_batches(*scheduler, 10);
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

// Charged as if its frames had taken longer, so it loses its trial.
TEST_F(Adaptive, whatTheStreamLosesByAScheduleCountsAgainstIt) {
  use("@A");
  const auto scheduler = start(options());
  ASSERT_TRUE(scheduler);
  const Schedule first = scheduler->incumbent();
  const auto trials = [&] { return scheduler->tuner().record().count(tuning::EventKind::trial); };
  const std::int64_t patience_ends = now_ns() + 60'000'000'000;
  while (trials() < 1 && now_ns() < patience_ends && !HasFatalFailure()) {
    run_and_compare(*scheduler);
    if (executor_->in_use() != first) scheduler->observe({.cost = 0.05});
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
    if (executor_->in_use() != first) scheduler->observe({.handover = 0.05});
  }
  EXPECT_GT(trials(), 0);
  EXPECT_EQ(scheduler->incumbent(), first);
}

// Frames that arrived before a switch waited for the previous schedule until then.
TEST_F(Adaptive, whatFramesWaitedForAnotherScheduleIsNoLatencyOfTheNext) {
  use("@A");
  AdaptiveOptions with = options();
  with.objective.aim = tuning::Aim::latency;
  const auto scheduler = start(with);
  ASSERT_TRUE(scheduler);
  const Schedule first = scheduler->incumbent();
  const std::int64_t patience_ends = now_ns() + 60'000'000'000;
  while (scheduler->incumbent() == first && now_ns() < patience_ends && !HasFatalFailure()) {
    run_and_compare(*scheduler, [](int batches) { return batches < 3 ? 10.0 : 0.0; });
    if (executor_->in_use() == first) scheduler->observe({.handover = 0.05});
  }
  EXPECT_NE(scheduler->incumbent(), first);
}

// If both runs have the same kernels, the second can begin with what the first had to find out.
TEST_F(Adaptive, whatOneRunLearntIsTheStartOfTheNext) {
  use("@D");
  const auto space = ScheduleSpace::make(layout_, freedom());
  ASSERT_TRUE(space);
  build_kernels_of(*space);
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

// Visits the whole space in a random order, unlike any search.
TEST_F(Adaptive, twoThousandSwitchesLeaveNoTraceInMemoryOrPixels) {
  use("@B");
  const auto space = ScheduleSpace::make(layout_, freedom());
  ASSERT_TRUE(space);
  build_kernels_of(*space);
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
#ifndef MILLRACE_SANITIZED  // the sanitizer keeps freed memory
  EXPECT_LT(resident_bytes() - settled, 8 << 20);
#else
  static_cast<void>(settled);
#endif
}

// For streams of known length, checks the first schedule.
TEST_F(Adaptive, streamsOfKnownLengthBeginWithWhatASearchWouldBeginWith) {
  for (const char* pipeline : {"@A", "@B", "@C", "@D", "blur", "rotate(30)"}) {
    use(pipeline);
    const auto searching = start(options());
    ASSERT_TRUE(searching && searching->searches());
    const auto opening = start_of(10);
    ASSERT_TRUE(opening);
    EXPECT_FALSE(opening->searches());
    EXPECT_EQ(to_string(opening->incumbent()), to_string(searching->incumbent()));
    EXPECT_EQ(executor_->in_use(), opening->incumbent());
    EXPECT_EQ(opening->incumbent_name(), searching->space().space().name_of(searching->tuner().incumbent()));
  }
}

TEST_F(Adaptive, aStreamThatIsSoonOverIsNotSearched) {
  use("@A");
  const auto scheduler = start_of(40);
  ASSERT_TRUE(scheduler);
  while (frames_ < 40 && !HasFatalFailure())
    run_and_compare(*scheduler);
  EXPECT_FALSE(scheduler->searches());
}

TEST_F(Adaptive, aStreamIsSearchedOnceItIsKnownThatEnoughIsLeft) {
  for (const bool more_than_was_said : {false, true}) {
    use("@A");
    const auto scheduler = start_of(more_than_was_said ? 3 : 100'000'000);
    ASSERT_TRUE(scheduler);
    EXPECT_FALSE(scheduler->searches());
    run_batches(*scheduler, 10);
    ASSERT_TRUE(scheduler->searches());
    ASSERT_GE(scheduler->tuner().incumbent(), 0) << "before it was told anything";
    const std::int64_t patience_ends = now_ns() + 60'000'000'000;
    while (scheduler->tuner().record().events().empty() && now_ns() < patience_ends && !HasFatalFailure())
      run_and_compare(*scheduler);
    EXPECT_EQ(scheduler->tuner().record().count(tuning::EventKind::started), 1);
  }
}

TEST_F(Adaptive, aStreamThatIsExpectedToGoOnAfterAllIsSearched) {
  use("@A");
  const auto scheduler = start_of(40);
  ASSERT_TRUE(scheduler);
  run_batches(*scheduler, 10);
  EXPECT_FALSE(scheduler->searches());
  scheduler->expect(100'000'000);
  run_batches(*scheduler, 2);
  EXPECT_TRUE(scheduler->searches());
}

// Faster frames gain nothing if the stream waits for its input.
TEST_F(Adaptive, aStreamThatIsBoundByItsInputIsNotSearched) {
  use("@A");
  const auto scheduler = start_of(100'000);
  ASSERT_TRUE(scheduler);
  for (int batch = 0; batch < 20 && !HasFatalFailure(); ++batch) {
    scheduler->observe({.bottleneck_share = 0});
    run_and_compare(*scheduler);
  }
  EXPECT_FALSE(scheduler->searches());
  scheduler->observe({});
  run_batches(*scheduler, 6);
  EXPECT_TRUE(scheduler->searches()) << "it is now";
}

// Whether or not its length is known.
TEST_F(Adaptive, aStreamThatIsHeldRunsAsItBegan) {
  for (const bool known : {true, false}) {
    use("@A");
    const auto scheduler = known ? start_of(100'000'000) : start(options());
    ASSERT_TRUE(scheduler);
    scheduler->observe({.bottleneck_share = {}});
    const Schedule first = executor_->in_use();
    for (int batch = 0; batch < 40 && !HasFatalFailure(); ++batch) {
      run_and_compare(*scheduler);
      EXPECT_EQ(executor_->in_use(), first);
      EXPECT_EQ(scheduler->searches(), !known);
    }
    if (!known) {
      EXPECT_TRUE(scheduler->tuner().record().events().empty());
      EXPECT_TRUE(scheduler->tuner().wanted_builds().empty());
    }
    scheduler->observe({});
    run_batches(*scheduler, 10);
    EXPECT_TRUE(scheduler->searches());
    const std::int64_t patience_ends = now_ns() + 60'000'000'000;
    while (scheduler->tuner().record().events().empty() && now_ns() < patience_ends && !HasFatalFailure())
      run_and_compare(*scheduler);
    EXPECT_EQ(scheduler->tuner().record().count(tuning::EventKind::started), 1);
  }
}

TEST_F(Adaptive, valuesThatChangeBeforeThereIsASearchHoldBeforeAndInIt) {
  use("rotate(6) | blur");
  const auto scheduler = start_of(100'000'000);
  ASSERT_TRUE(scheduler);
  for (int step = 0; step < 12 && !HasFatalFailure(); ++step) {
    turn_to(6 + 9.0 * step, true, *scheduler);
    run_batches(*scheduler, step + 1);
  }
  EXPECT_TRUE(scheduler->searches());
}

// Windows become so wide that the profile's schedule is no longer a candidate: one kernel would compute each
// pixel too often.
TEST_F(Adaptive, aSearchLeavesWhatNewValuesHaveTakenOutOfItsSpace) {
  use("gaussian(0.5)");
  AdaptiveOptions with = options();
  with.frames = 100'000'000;
  const auto space = ScheduleSpace::make(layout_, with.freedom);
  ASSERT_TRUE(space);
  int one_kernel = 0;
  while (one_kernel < space->size() && space->schedule(one_kernel).fusion != Fusion::all)
    ++one_kernel;
  ASSERT_LT(one_kernel, space->size());
  const Schedule fused = space->schedule(one_kernel);
  compile(build_for(layout_, fused));
  with.profile = tuning::Profile{.plan = space->space().name_of(one_kernel), .costs = {}};
  const auto scheduler = start(with);
  ASSERT_TRUE(scheduler);
  ASSERT_EQ(to_string(scheduler->incumbent()), to_string(fused));
  update(34, true, *scheduler);
  ASSERT_FALSE(ScheduleSpace::make(layout_, with.freedom)->find(fused)) << "else this tests nothing";
  for (int batch = 0; batch < 6; ++batch)  // the reference takes far longer
    ASSERT_FALSE(run_batch(*scheduler, [](int) { return 0.0; }).empty());
  ASSERT_TRUE(scheduler->searches());
  EXPECT_TRUE(scheduler->space().find(executor_->in_use())) << to_string(executor_->in_use());
  EXPECT_TRUE(scheduler->space().find(scheduler->incumbent())) << to_string(scheduler->incumbent());
}

TEST_F(Adaptive, aShortStreamFollowsItsProfile) {
  use("@A");
  AdaptiveOptions with = options();
  with.frames = 10;
  const Schedule wanted{.structure = Structure::sequential,
                        .fusion = Fusion::none,
                        .tile = {0, 0},
                        .threads = 1,
                        .isa = machine::best_isa()};
  const auto space = ScheduleSpace::make(layout_, with.freedom);
  ASSERT_TRUE(space);
  const auto best = start(with)->incumbent();
  const std::string plan = space->space().name_of(*space->find(wanted));
  const std::string other = space->space().name_of(*space->find(best));
  with.profile = tuning::Profile{.plan = plan, .costs = {{other, 1.1}}};
  EXPECT_EQ(to_string(start(with)->incumbent()), to_string(wanted));
  with.profile = tuning::Profile{.plan = "structure=none of this", .costs = {}};
  EXPECT_EQ(to_string(start(with)->incumbent()), to_string(best));
}

}  // namespace
}  // namespace millrace::image
