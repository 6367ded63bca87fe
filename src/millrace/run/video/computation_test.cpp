#include "millrace/image/pipeline/presets.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/run/video/computation.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using machine::AffinityArrangement;
using machine::CpuSet;

constexpr int frame_count = 3;

// Shared by all tests: a process has one pool.
class ComputationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    machine_ = new machine::MachineReport(*machine::inspect_machine());
    context_ = ExecutionContext::make(*machine_, machine_->usable.worker_limit)->release();
    auto reader = video::open_reader("test:64x48@9");
    frames_ =
        new std::vector<video::Frame>(*read_frames(**reader, frame_count, "test", InputPixels::preloaded));
  }
  static void TearDownTestSuite() {
    delete frames_;
    delete context_;
    delete machine_;
  }

  static image::FrameLayout layout() {
    return *image::lay_out_frame(*image::load_pipeline("@A"), frames_->front().format(), image::Planes::all,
                                 image::Samples::floats);
  }
  static image::Schedule schedule(int threads, AffinityArrangement affinity = AffinityArrangement::free) {
    return {.structure = image::Structure::sequential,
            .fusion = image::Fusion::none,
            .threads = threads,
            .affinity = affinity,
            .isa = machine::best_isa()};
  }
  // The planes of the last processed frame, row by row.
  static std::vector<float> pixels_of(const std::vector<image::PixelView>& planes) {
    std::vector<float> pixels;
    for (const image::PixelView& plane : planes) {
      for (int y = plane.covers.y0; y < plane.covers.y1; ++y) {
        for (int x = plane.covers.x0; x < plane.covers.x1; ++x)
          pixels.push_back(plane.pixel<float>(x, y));
      }
    }
    return pixels;
  }

  static machine::MachineReport* machine_;
  static ExecutionContext* context_;
  static std::vector<video::Frame>* frames_;
};
machine::MachineReport* ComputationTest::machine_ = nullptr;
ExecutionContext* ComputationTest::context_ = nullptr;
std::vector<video::Frame>* ComputationTest::frames_ = nullptr;

TEST_F(ComputationTest, fresh_pixels_are_those_that_lie_in_memory_otherwise_and_so_are_the_results) {
  Computation preloaded(*context_, *frames_, layout(), InputPixels::preloaded);
  Computation fresh(*context_, *frames_, layout(), InputPixels::fresh);
  ASSERT_TRUE(preloaded.use(schedule(1)));
  ASSERT_TRUE(fresh.use(schedule(1)));
  std::map<std::vector<float>, std::vector<float>> expected;
  for (int frame = 0; frame < frame_count; ++frame) {
    ASSERT_TRUE(preloaded.process(1));
    expected[pixels_of(preloaded.last().sources)] = pixels_of(preloaded.last().destinations);
  }
  ASSERT_EQ(expected.size(), frame_count) << "frames differ from each other";
  std::set<std::vector<float>> seen;
  for (int frame = 0; frame < 2 * frame_count; ++frame) {
    ASSERT_TRUE(fresh.process(1));
    const auto source = pixels_of(fresh.last().sources);
    ASSERT_TRUE(expected.contains(source));
    EXPECT_EQ(pixels_of(fresh.last().destinations), expected[source]);
    seen.insert(source);
  }
  EXPECT_EQ(seen.size(), frame_count) << "each in turn";
}

TEST_F(ComputationTest, loaded_pixels_are_the_code_values_of_the_frame_from_0_to_1) {
  Computation computation(*context_, *frames_, layout(), InputPixels::preloaded);
  ASSERT_TRUE(computation.use(schedule(1)));
  ASSERT_TRUE(computation.process(1));
  const video::PlaneView luma = frames_->front().plane(0);
  const image::PixelView source = computation.last().sources[0];
  for (int y = 0; y < luma.height; ++y) {
    for (int x = 0; x < luma.width; ++x)
      ASSERT_EQ(source.pixel<float>(x, y), static_cast<float>(luma.row<std::uint8_t>(y)[x]) / 255.0F);
  }
}

// The first and last frames are repeated beyond the ends.
TEST_F(ComputationTest, neighbouring_frames_are_those_in_memory) {
  const auto temporal = [](const char* pipeline) {
    return *image::lay_out_frame(*image::load_pipeline(pipeline), frames_->front().format(),
                                 image::Planes::all, image::Samples::floats);
  };
  Computation computation(*context_, *frames_, temporal("temporal_average(3)"), InputPixels::preloaded);
  ASSERT_TRUE(computation.use(schedule(1)));
  const auto luma = [](int frame, int x, int y) {
    const int inside = std::clamp(frame, 0, frame_count - 1);
    const video::PlaneView plane = (*frames_)[static_cast<std::size_t>(inside)].plane(0);
    return static_cast<float>(plane.row<std::uint8_t>(y)[x]) / 255.0F;
  };
  for (int frame = 0; frame < frame_count; ++frame) {
    ASSERT_TRUE(computation.process(1));
    const image::PixelView result = computation.last().destinations[0];
    for (int y = 0; y < 48; y += 5) {
      for (int x = 0; x < 64; x += 3) {
        const float sum = luma(frame - 1, x, y) + luma(frame, x, y) + luma(frame + 1, x, y);
        ASSERT_NEAR(result.pixel<float>(x, y), sum / 3, 1e-6) << frame;
      }
    }
  }
  Computation fresh(*context_, *frames_, temporal("difference"), InputPixels::fresh);
  const Status refused = fresh.use(schedule(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
}

class ComputationCounts : public ComputationTest,
                          public ::testing::WithParamInterface<std::tuple<InputPixels, bool>> {};

TEST_P(ComputationCounts, the_record_holds_what_was_processed_since_and_nothing_else) {
  const auto [pixels, fresh_threads] = GetParam();
  Computation computation(*context_, *frames_, layout(), pixels);
  image::Schedule used = schedule(machine_->usable.worker_limit);
  used.fresh_threads = fresh_threads;
  used.frames_in_flight = std::min(2, used.threads);
  ASSERT_TRUE(computation.use(used));
  ASSERT_TRUE(computation.process(5));
  computation.start_counting();
  double spent = 0;
  for (const std::int64_t count : {4, 7})
    spent += computation.process(count).value();
  RunRecord record;
  computation.record(record);
  EXPECT_EQ(record.frames, 11);
  EXPECT_GT(spent, 0);
  // The executor's clock runs inside the interval timed here.
  EXPECT_GT(record.compute_seconds, 0);
  EXPECT_LE(record.compute_seconds, spent);
  ASSERT_EQ(record.stages.size(), 15U) << "five stages of three planes";
  for (const image::StageReport& stage : record.stages) {
    EXPECT_EQ(stage.frames, 11);
    const std::int64_t plane = stage.plane == 0 ? 64 * 48 : 32 * 24;
    EXPECT_EQ(stage.pixels_required, 11 * plane);
    EXPECT_EQ(stage.pixels_computed, 11 * plane);
  }
  std::int64_t written = 0;
  for (const auto& [cpu, frames] : computation.written_on())
    written += frames;
  EXPECT_EQ(written, pixels == InputPixels::fresh ? 11 : 0);
}

INSTANTIATE_TEST_SUITE_P(Computation, ComputationCounts,
                         ::testing::Combine(::testing::Values(InputPixels::preloaded, InputPixels::fresh),
                                            ::testing::Bool()));

class ComputationInput : public ComputationTest,
                         public ::testing::WithParamInterface<std::tuple<AffinityArrangement, bool>> {};

TEST_P(ComputationInput, is_written_on_the_cpus_that_the_affinity_has_for_it) {
  const auto [affinity, fresh_threads] = GetParam();
  image::Schedule used = schedule(1, affinity);
  used.fresh_threads = fresh_threads;
  const auto plan = machine::arrange(machine_->topology, machine_->usable.cpus,
                                     {.arrangement = affinity, .workers = used.threads});
  if (!plan) GTEST_SKIP() << plan.error().message;
  Computation computation(*context_, *frames_, layout(), InputPixels::fresh);
  ASSERT_TRUE(computation.use(used));
  if (!computation.executor().refused().empty()) GTEST_SKIP() << "binding is not permitted here";
  computation.start_counting();
  ASSERT_TRUE(computation.process(20));
  const CpuSet leader = machine::current_thread_affinity().value();
  EXPECT_EQ(leader, affinity == AffinityArrangement::free ? machine_->usable.cpus : plan->workers.back());
  std::int64_t written = 0;
  for (const auto& [cpu, frames] : computation.written_on()) {
    EXPECT_TRUE(plan->io.contains(cpu)) << cpu;
    if (affinity == AffinityArrangement::io_diff || affinity == AffinityArrangement::io_same) {
      EXPECT_EQ(leader.contains(cpu), affinity == AffinityArrangement::io_same);
    }
    written += frames;
  }
  EXPECT_EQ(written, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Computation, ComputationInput,
    ::testing::Combine(::testing::Values(AffinityArrangement::free, AffinityArrangement::pinned,
                                         AffinityArrangement::io_same, AffinityArrangement::io_diff),
                       ::testing::Bool()));

TEST_F(ComputationTest, threads_of_different_schedules_are_bound_each_by_its_own) {
  Computation computation(*context_, *frames_, layout(), InputPixels::fresh);
  for (const auto affinity : {AffinityArrangement::io_same, AffinityArrangement::free,
                              AffinityArrangement::io_diff, AffinityArrangement::io_same}) {
    const auto plan =
        machine::arrange(machine_->topology, machine_->usable.cpus, {.arrangement = affinity, .workers = 1});
    if (!plan) continue;
    ASSERT_TRUE(computation.use(schedule(1, affinity)));
    if (!computation.executor().refused().empty()) GTEST_SKIP() << "binding is not permitted here";
    computation.start_counting();
    ASSERT_TRUE(computation.process(4));
    for (const auto& [cpu, frames] : computation.written_on())
      EXPECT_TRUE(plan->io.contains(cpu)) << name_of(affinity);
  }
}

TEST_F(ComputationTest, a_schedule_that_is_impossible_is_a_usage_error) {
  Computation computation(*context_, *frames_, layout(), InputPixels::fresh);
  const Status used = computation.use(schedule(machine_->usable.worker_limit + 1));
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().kind, ErrorKind::usage);
}

TEST_F(ComputationTest, no_more_frames_are_read_than_fit_into_memory) {
  // 8 bits per sample, and two floats of 32 bits.
  const std::uint64_t decoded = video::frame_bytes(frames_->front().format());
  for (const auto& [pixels, each] :
       {std::pair{InputPixels::fresh, decoded}, {InputPixels::preloaded, 9 * decoded}}) {
    for (const std::uint64_t fitting : {1, 4}) {
      auto reader = video::open_reader("test:64x48@9");
      const auto frames = read_frames(**reader, 9, "test", pixels, (fitting + 1) * each - 1);
      ASSERT_FALSE(frames);
      EXPECT_EQ(frames.error().kind, ErrorKind::usage);
      EXPECT_THAT(frames.error().message, ::testing::HasSubstr(fmt::format("--frames {}", fitting)));
    }
    auto reader = video::open_reader("test:64x48@9");
    EXPECT_EQ(read_frames(**reader, 9, "test", pixels, 9 * each)->size(), 9U);
  }
}

TEST_F(ComputationTest, processing_ends_soon_when_it_is_stopped) {
  Computation computation(*context_, *frames_, layout(), InputPixels::fresh);
  ASSERT_TRUE(computation.use(schedule(1)));
  std::stop_source stop;
  stop.request_stop();
  const auto seconds = computation.process(std::int64_t{1} << 40, stop.get_token());
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().kind, ErrorKind::interrupted);
}

TEST(InputThreadTest, runs_where_it_is_told_to_and_says_so) {
  const CpuSet own = machine::current_thread_affinity().value();
  for (const int cpu : {own.lowest(), own.highest()}) {
    auto thread = InputThread::start(CpuSet{cpu});
    ASSERT_TRUE(thread) << thread.error().message;
    for (int call = 0; call < 3; ++call) {
      CpuSet mask;
      EXPECT_EQ((*thread)->call([&] { mask = machine::current_thread_affinity().value(); }), cpu);
      EXPECT_EQ(mask, CpuSet{cpu});
    }
  }
  EXPECT_EQ(machine::current_thread_affinity().value(), own);
}

TEST(InputThreadTest, a_cpu_that_is_not_there_is_an_error) {
  const CpuSet own = machine::current_thread_affinity().value();
  EXPECT_FALSE(InputThread::start(CpuSet{own.highest() + 1000}));
}

}  // namespace
}  // namespace millrace::run
