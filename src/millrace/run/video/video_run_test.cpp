#include "millrace/base/clock.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/temporary_folder_testing.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/run/video/input_passes.h"
#include "millrace/run/video/run_recorder.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <semaphore>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

const video::FrameFormat small_gray = {.width = 6, .height = 4, .chroma = video::Chroma::gray};

image::Pipeline parsed(const std::string& text) {
  auto pipeline = image::parse_pipeline(text);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  return *pipeline;
}

// One for all tests: a process has one pool.
class VideoRunTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    machine_ = new machine::MachineReport(*machine::inspect_machine());
    workplace_ = Workplace::make(*machine_, machine_->usable.worker_limit)->release();
  }
  static void TearDownTestSuite() {
    delete workplace_;
    delete machine_;
  }

  static machine::MachineReport* machine_;
  static Workplace* workplace_;
};
machine::MachineReport* VideoRunTest::machine_ = nullptr;
Workplace* VideoRunTest::workplace_ = nullptr;

// Frames whose every sample is their number.
class Counting {
 public:
  explicit Counting(std::int64_t count, const video::FrameFormat& format = small_gray)
      : pool_(format), count_(count) {}

  Result<std::optional<video::Frame>> next() {
    if (given_ == count_) return std::nullopt;
    auto frame = pool_.acquire();
    if (!frame) return std::unexpected(frame.error());
    fill(*frame, static_cast<int>(given_++));
    return std::optional(std::move(*frame));
  }
  [[nodiscard]] std::int64_t given() const { return given_; }

 private:
  static void fill(const video::Frame& frame, int value) {
    const video::PlaneView plane = frame.plane(0);
    for (int y = 0; y < plane.height; ++y)
      std::memset(plane.row<std::uint8_t>(y), value, static_cast<std::size_t>(plane.width));
  }

  video::FramePool pool_;
  std::int64_t count_;
  std::int64_t given_ = 0;
};

VideoSource source_of(Counting& counting, std::optional<std::int64_t> total = std::nullopt,
                      const video::FrameFormat& format = small_gray) {
  return frames_source(format, [&](const std::stop_token&) { return counting.next(); }, total);
}

VideoSink sink_to(std::vector<int>& samples) {
  return frames_sink([&](const video::Frame& frame) -> Status {
    EXPECT_EQ(frame.index, std::ssize(samples));
    samples.push_back(frame.plane(0).row<std::uint8_t>(frame.format().height - 1)[0]);
    return {};
  });
}

std::vector<int> numbers(int from, int count, int step = 1) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i)
    all.push_back(from + i * step);
  return all;
}

TEST_F(VideoRunTest, TakesTheCallersFramesThroughThePipelineInOrder) {
  Counting frames(40);
  std::vector<int> samples;
  VideoRun run(*workplace_, source_of(frames, 40), sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(samples, numbers(0, 40));
  EXPECT_EQ(run.record().frames, 40);
  EXPECT_EQ(run.record().input_format, small_gray);
  EXPECT_EQ(run.progress().frames, 40);
  EXPECT_EQ(run.progress().total, 40);
  EXPECT_GT(run.record().compute_seconds, 0);
  EXPECT_GE(run.record().wall_seconds, run.record().compute_seconds);
}

struct Temporal {
  const char* pipeline;
  int (*expected)(int frame, int last);
};

// Frames are numbers here, so that what is made of neighbours can be worked out by hand.
TEST_F(VideoRunTest, ReadsNeighbouringFramesWhichStandStillBeforeTheFirstAndAfterTheLast) {
  const Temporal cases[] = {
      {"temporal_average(3)", [](int n, int last) { return last == 0 ? 0 : n; }},
      {"temporal_average(5)",
       [](int n, int last) {
         int sum = 0;
         for (int d = -2; d <= 2; ++d)
           sum += std::clamp(n + d, 0, last);
         return (2 * sum + 5) / 10;  // to the nearest
       }},
      {"temporal_median(2)", [](int n, int) { return n; }},
      {"difference(3)", [](int n, int) { return std::min(n, 3); }},
      {"difference(2) | difference(1)", [](int n, int) { return n == 1 || n == 2 ? 1 : 0; }},
      {"temporal_median | blur | difference", [](int n, int) { return n == 0 ? 0 : 1; }},
  };
  for (const Temporal& each : cases) {
    for (const image::Structure structure : image::all_structures()) {
      for (const int in_flight : {1, 2}) {
        if (in_flight > workplace_->threads()) continue;
        // The same kernels once more, but for what a compilation takes.
        if (image::is_one_kernel(structure) && in_flight < std::min(2, workplace_->threads())) continue;
        for (const int count : {1, 2, 9}) {
          Counting frames(count);
          std::vector<int> samples;
          VideoRun run(*workplace_, source_of(frames), sink_to(samples),
                       {.pipeline = parsed(each.pipeline),
                        .schedule = image::Schedule{.structure = structure,
                                                    .fusion = image::Fusion::none,
                                                    .threads = in_flight,
                                                    .frames_in_flight = in_flight,
                                                    .isa = machine::best_isa()}});
          const Status done = run.run();
          ASSERT_TRUE(done) << done.error().message;
          std::vector<int> expected;
          for (int n = 0; n < count; ++n)
            expected.push_back(each.expected(n, count - 1));
          EXPECT_EQ(samples, expected)
              << each.pipeline << ", " << image::name_of(structure) << ", " << in_flight;
        }
      }
    }
  }
}

struct Beside {
  int rate;  // of the second video; the first has 25 frames a second
  int frames;
  const char* pipeline;
  std::vector<int> expected;  // of 6 frames
};

// Frames are numbers here, which tell whose is shown.
TEST_F(VideoRunTest, ShowsBesideEachFrameTheLastOfTheSecondVideoThatHasBegun) {
  const char* const second_alone = "[input, second] | blend(normal)";
  const Beside cases[] = {
      {25, 9, second_alone, {0, 1, 2, 3, 4, 5}},
      {25, 3, second_alone, {0, 1, 2, 2, 2, 2}},
      {25, 1, second_alone, {0, 0, 0, 0, 0, 0}},
      {50, 99, second_alone, {0, 2, 4, 6, 8, 10}},
      {30, 99, second_alone, {0, 1, 2, 3, 4, 6}},
      {10, 99, second_alone, {0, 0, 0, 1, 1, 2}},
      {50, 99, "[input, second] | blend(subtract)", {0, 0, 0, 0, 0, 0}},
      {50, 99, "[second, input] | blend(subtract)", {0, 1, 2, 3, 4, 5}},
      // At other times it is what was shown beside the frames of those times.
      {50, 99, "[input, second | difference(2)] | blend(normal)", {0, 2, 4, 4, 4, 4}},
      {50, 99, "[input, second | temporal_average(3)] | blend(normal)", {1, 2, 4, 6, 8, 9}},
  };
  for (const Beside& each : cases) {
    video::FrameFormat format = small_gray;
    format.rate_numerator = each.rate;
    Counting first(6);
    Counting second(each.frames, format);
    std::vector<int> samples;
    VideoRun run(*workplace_, source_of(first), sink_to(samples),
                 {.pipeline = parsed(each.pipeline),
                  .second = source_of(second, {}, format),
                  .schedule = image::Schedule{.structure = image::Structure::sequential,
                                              .fusion = image::Fusion::none,
                                              .isa = machine::best_isa()}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, each.expected) << each.pipeline << " beside " << each.rate << " frames a second";
    EXPECT_EQ(run.record().second_format, format);
  }
}

// Both are cut from one film of 30 frames a second, one in milliseconds.
TEST_F(VideoRunTest, PairsFramesOfOneMomentThoughClocksRound) {
  video::FrameFormat exact = small_gray;
  exact.rate_numerator = 30;
  exact.time_base_numerator = 1;
  exact.time_base_denominator = 15360;
  video::FrameFormat coarse = exact;
  coarse.time_base_denominator = 1000;
  const auto timed = [](Counting& frames, const video::FrameFormat& format) {
    return frames_source(format, [&frames, format, n = 0](const std::stop_token&) mutable {
      auto frame = frames.next();
      if (frame && *frame)
        (*frame)->timestamp = 77 + std::lround(n++ * double(format.time_base_denominator) / 30);
      return frame;
    });
  };
  for (const bool first_is_exact : {true, false}) {
    const auto [one, other] = first_is_exact ? std::pair(exact, coarse) : std::pair(coarse, exact);
    Counting first(40, one);
    Counting second(40, other);
    std::vector<int> samples;
    VideoRun run(*workplace_, timed(first, one), sink_to(samples),
                 {.pipeline = parsed("[input, second] | blend(normal)"),
                  .second = timed(second, other),
                  .schedule = image::Schedule{.structure = image::Structure::sequential,
                                              .fusion = image::Fusion::none,
                                              .isa = machine::best_isa()}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, numbers(0, 40));
  }
}

TEST_F(VideoRunTest, SaysWhatIsWrongWithASecondVideo) {
  const auto outcome = [&](const char* pipeline, const VideoSource& beside) {
    Counting first(3);
    std::vector<int> samples;
    VideoRunOptions options{.pipeline = parsed(pipeline)};
    if (beside.open) options.second = beside;
    const Status done = VideoRun(*workplace_, source_of(first), sink_to(samples), std::move(options)).run();
    return done ? "" : done.error().message;
  };
  Counting none(0);
  EXPECT_THAT(outcome("[input, second] | blend(add)", source_of(none)), HasSubstr("has no frames"));
  EXPECT_THAT(outcome("[input, second] | blend(add)", {}), HasSubstr("reads a second video"));
  const video::FrameFormat large{.width = 8, .height = 4, .chroma = video::Chroma::gray};
  Counting larger(3, large);
  EXPECT_THAT(outcome("[input, second] | blend(add)", source_of(larger, {}, large)),
              HasSubstr("resize(6, 4)"));
  const video::FrameFormat colours{.width = 6, .height = 4};
  Counting coloured(3, colours);
  EXPECT_THAT(outcome("[input, second] | blend(add)", source_of(coloured, {}, colours)),
              HasSubstr("other samples than the first"));
}

// 4 frames before and 1 after are read for each; where the video began or ended there, results would differ.
TEST_F(VideoRunTest, FramesAroundAreReadAndNotMade) {
  for (const int in_flight : {1, 2}) {
    if (in_flight > workplace_->threads()) continue;
    Counting frames(4 + 3 + 1);
    std::vector<int> samples;
    VideoRun run(*workplace_, source_of(frames, 8), sink_to(samples),
                 {.pipeline = parsed("difference(3) | temporal_average(3)"),
                  .first_frame = 4,
                  .around = {.before = 4, .after = 1},
                  .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, (std::vector<int>{3, 3, 3}));
    EXPECT_EQ(run.record().frames, 3);
    EXPECT_EQ(run.progress().total, 3);
  }
}

// Moments of a run that the caller sees, between which those lie that its latencies are counted from and to.
struct Moments {
  explicit Moments(int frames)
      : asked(static_cast<std::size_t>(frames) + 1), read(asked), taken_up(asked), begun(asked),
        written(asked) {}

  std::vector<std::int64_t> asked;     // by frame: the source was
  std::vector<std::int64_t> read;      // it gave it
  std::vector<std::int64_t> taken_up;  // not yet
  std::vector<std::int64_t> begun;     // the sink was given it
  std::vector<std::int64_t> written;   // it has it
};

// Frame by frame through filters that read `after` later ones; the source waits before some, the sink holds
// the first one until three are read.
Moments run_and_watch(Workplace& workplace, int count, const char* pipeline, bool live, Histogram& latency) {
  Counting frames(count);
  Moments at(count);
  std::size_t asked = 0;
  std::size_t handed_on = 0;
  std::promise<void> three;
  VideoSource source = frames_source(small_gray, [&](const std::stop_token&) {
    at.asked[asked] = now_ns();
    if (asked == 3) three.set_value();
    if (asked % 4 == 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    auto frame = frames.next();
    at.read[asked++] = now_ns();
    return frame;
  });
  source.live = live;
  std::size_t taken = 0;
  VideoRun run(workplace, std::move(source), frames_sink([&](const video::Frame&) -> Status {
                 at.begun[taken] = now_ns();
                 if (taken == 0) three.get_future().wait();
                 at.written[taken++] = now_ns();
                 return {};
               }),
               {.pipeline = parsed(pipeline),
                .schedule = image::Schedule{},
                .on_progress = [&](const RunProgress&, const image::Schedule&) {
                  at.taken_up[++handed_on] = now_ns();
                }});
  const Status done = run.run();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(asked, static_cast<std::size_t>(count) + 1);
  EXPECT_EQ(taken, static_cast<std::size_t>(count));
  at.begun.back() = now_ns();
  latency = run.record().latency;
  EXPECT_EQ(latency.count(), static_cast<std::uint64_t>(count));
  return at;
}

TEST_F(VideoRunTest, LatencyOfALiveSourceIsFromWhenAllThatAFrameNeedsWasReadToWhenItIsWritten) {
  constexpr int count = 12;
  for (const auto& [pipeline, after] : {std::pair{"blur", 0}, std::pair{"temporal_average(3)", 1}}) {
    Histogram latency;
    const Moments at = run_and_watch(*workplace_, count, pipeline, true, latency);
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t last = std::min<std::size_t>(k + static_cast<std::size_t>(after), count - 1);
      least += std::max<std::int64_t>(0, at.written[k] - at.asked[last + 1]);
      most += at.begun[k + 1] - at.read[last];
    }
    EXPECT_GE(latency.sum(), 0.999999 * seconds(least)) << "the wait behind other frames counts";
    EXPECT_LE(latency.sum(), 1.000001 * seconds(most)) << "the wait for input does not";
  }
}

TEST_F(VideoRunTest, LatencyOfWhatIsReadAheadIsFromWhenItIsTakenUp) {
  constexpr int count = 12;
  Histogram latency;
  const Moments at = run_and_watch(*workplace_, count, "blur", false, latency);
  std::int64_t most = 0;
  for (std::size_t k = 0; k < count; ++k)
    most += at.begun[k + 1] - std::max(at.read[k], at.taken_up[k]);
  EXPECT_LE(latency.sum(), 1.000001 * seconds(most));
}

TEST(VideoSourceTest, PipesAndTheCallersFramesAreLive) {
  const TemporaryFolder folder;
  const std::string fifo = folder / "pipe.y4m";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(file_source(fifo).live);
  EXPECT_TRUE(file_source("-").live);
  EXPECT_TRUE(frames_source(small_gray, {}).live);
  EXPECT_FALSE(file_source("test:64x48@3").live);
  EXPECT_FALSE(file_source(folder / "none.mp4").live);
}

// Gives each frame when it is allowed to, and tells where it was not for long.
VideoSource source_when_allowed(Counting& frames, std::counting_semaphore<>& allowed, bool& late) {
  return frames_source(small_gray, [&](const std::stop_token&) {
    late = late || !allowed.try_acquire_for(std::chrono::seconds(20));
    return frames.next();
  });
}

// Of small frames many are computed in a turn, but of those beyond the first round none is waited for: here
// each comes only after those of the round before have been handed on.
TEST_F(VideoRunTest, WaitsForNoMoreFramesThanAreProcessedSideBySide) {
  constexpr int in_flight = 2;
  auto workplace = Workplace::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(workplace) << workplace.error().message;
  for (const char* pipeline : {"blur", "temporal_average(3)"}) {
    const int ahead = pipeline[0] == 'b' ? 0 : 1;  // frames that one needs after it
    Counting frames(101);
    std::counting_semaphore<> allowed(in_flight + ahead);
    bool late = false;
    std::vector<int> samples;
    VideoRun run(**workplace, source_when_allowed(frames, allowed, late),
                 frames_sink([&](const video::Frame&) -> Status {
                   samples.push_back(0);
                   if (std::ssize(samples) % in_flight == 0) allowed.release(in_flight);
                   return {};
                 }),
                 {.pipeline = parsed(pipeline),
                  .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(late) << pipeline;
    EXPECT_EQ(samples.size(), 101U);
  }
}

SearchOptions search_of_small_frames(Workplace& workplace) {
  SearchOptions search;
  search.adaptive.freedom = {.max_threads = workplace.threads(), .isas = {machine::best_isa()}};
  return search;
}

// Who sends a frame and waits for what becomes of it must not be kept waiting for the second of a round.
TEST_F(VideoRunTest, ASearchOverALiveSourceComputesOneFrameAtATime) {
  auto workplace = Workplace::make_shared(*machine_, 4, image::KernelCache());
  ASSERT_TRUE(workplace) << workplace.error().message;
  for (const tuning::Aim aim : {tuning::Aim::throughput, tuning::Aim::latency, tuning::Aim::deadline}) {
    Counting frames(300);
    std::counting_semaphore<> allowed(1);
    bool late = false;
    SearchOptions search = search_of_small_frames(**workplace);
    search.adaptive.objective = {.aim = aim, .deadline = 1e-3};
    VideoRun run(**workplace, source_when_allowed(frames, allowed, late),
                 frames_sink([&](const video::Frame&) -> Status {
                   allowed.release();
                   return {};
                 }),
                 {.pipeline = parsed("blur"), .schedule = search});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(late);
    EXPECT_EQ(run.record().frames, 300);
  }
}

// Frames of which each has other parameters are turns of one, which tell nothing of several side by side.
TEST_F(VideoRunTest, ASearchGoesOnWhereAParameterChangesWithEveryFrame) {
  auto workplace = Workplace::make_shared(*machine_, 2, image::KernelCache());
  ASSERT_TRUE(workplace) << workplace.error().message;
  constexpr video::FrameFormat format{.width = 320, .height = 240, .chroma = video::Chroma::gray};
  Counting frames(2000, format);
  VideoSource source = source_of(frames, 2000, format);
  source.live = false;
  VideoRun run(**workplace, std::move(source), frames_sink([](const video::Frame&) -> Status { return {}; }),
               {.pipeline = parsed("rotate(0)"),
                .changes = {"1..1999:rotate.degrees=80"},
                .schedule = search_of_small_frames(**workplace)});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(run.record().decisions["events"].size(), 0U) << "it was told nothing";
  EXPECT_EQ(run.record().schedule.frames_in_flight, 1);
}

// What is called the slowest frame is one, though several are timed together.
TEST_F(VideoRunTest, TheSlowestFrameOfALongTurnIsOneFrame) {
  constexpr int in_flight = 2;
  auto workplace = Workplace::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(workplace) << workplace.error().message;
  Counting frames(300);
  std::vector<int> samples;
  VideoRun run(**workplace, source_of(frames), sink_to(samples),
               {.pipeline = parsed("blur"),
                .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight},
                .recording = {.frames = true}});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  for (const FrameTime& point : run.record().recording->frame_times) {
    const double rounds = std::ceil(static_cast<double>(point.frames) / in_flight);
    EXPECT_NEAR(point.slowest, point.computing / rounds, 1e-12) << point.frames;
  }
}

// Of what is there already, many small frames are one turn, in order.
TEST_F(VideoRunTest, ComputesManySmallFramesInATurn) {
  constexpr int in_flight = 3;
  auto workplace = Workplace::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(workplace) << workplace.error().message;
  for (const int count : {1, 2, 3, 4, 200}) {
    Counting frames(count);
    std::atomic<std::int64_t> asked = 0;
    std::vector<int> samples;
    int turns = 0;
    VideoRun run(**workplace,
                 frames_source(small_gray,
                               [&](const std::stop_token&) {
                                 ++asked;
                                 return frames.next();
                               }),
                 sink_to(samples),
                 {.pipeline = parsed("blur"),
                  .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight},
                  .on_progress = [&](const RunProgress& progress, const image::Schedule&) {
                    ++turns;
                    // Until two rounds are there, where so many are read ahead by now.
                    for (int i = 0; i < 50 && asked < std::min<std::int64_t>(count, progress.frames + 7); ++i)
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  }});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, numbers(0, count));
    if (count <= in_flight) {
      EXPECT_EQ(turns, 1);
    } else if (count > 100) {
      EXPECT_LT(turns, count / in_flight * 2 / 3);
    }
  }
}

TEST_F(VideoRunTest, AsManyFramesWaitAtEitherEndAsAreProcessedSideBySide) {
  constexpr int in_flight = 4;
  // So large that a turn is one round of them.
  constexpr video::FrameFormat large{.width = 1024, .height = 1024, .chroma = video::Chroma::gray};
  // Any machine can process so many, only not all at the same moment.
  auto workplace = Workplace::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(workplace) << workplace.error().message;
  Counting frames(40, large);
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t given = 0;
  std::int64_t ready = 0;
  // Until the first frame is taken: four more wait to be written, and the rest of the second four for room;
  // one is read and four wait behind these eight.
  constexpr std::int64_t most = 2 * in_flight + in_flight + 1;
  std::vector<int> samples;
  const auto all_there = [&] { return given >= most && ready >= in_flight; };
  VideoRun run(**workplace,
               frames_source(large,
                             [&](const std::stop_token&) {
                               const std::scoped_lock lock(mutex);
                               ++given;
                               changed.notify_all();
                               return frames.next();
                             }),
               frames_sink([&](const video::Frame& frame) -> Status {
                 std::unique_lock lock(mutex);
                 if (samples.empty()) {
                   EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), all_there))
                       << given << " frames were read and " << ready << " handed on";
                   EXPECT_EQ(given, most);
                 }
                 samples.push_back(frame.plane(0).row<std::uint8_t>(0)[0]);
                 return {};
               }),
               {.pipeline = parsed("blur"),
                .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight},
                .on_progress = [&](const RunProgress& progress, const image::Schedule&) {
                  const std::scoped_lock lock(mutex);
                  ready = progress.frames;
                  changed.notify_all();
                }});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(samples, numbers(0, 40));
}

TEST(FramesInFlight, AreAtMostThoseOfTheScheduleOrOfWhatTheSearchMayTry) {
  VideoRunOptions options;
  EXPECT_EQ(most_frames_in_flight(options, 6), 6);
  options.schedule = image::Schedule{.threads = 5, .frames_in_flight = 3};
  EXPECT_EQ(most_frames_in_flight(options, 6), 3);
  SearchOptions search;
  search.adaptive.freedom = {.max_threads = 4};
  options.schedule = search;
  EXPECT_EQ(most_frames_in_flight(options, 6), 4);
  EXPECT_EQ(most_frames_in_flight(options, 2), 2);
  search.adaptive.freedom.threads = 3;
  options.schedule = search;
  EXPECT_EQ(most_frames_in_flight(options, 6), 3);
  search.adaptive.freedom.frames_in_flight = 1;
  options.schedule = search;
  EXPECT_EQ(most_frames_in_flight(options, 6), 1);
}

TEST_F(VideoRunTest, HasRecordsOfItsOwnWhereAnotherRanBefore) {
  for (const int count : {30, 3}) {
    Counting frames(count);
    std::vector<int> samples;
    VideoRun run(*workplace_, source_of(frames), sink_to(samples),
                 {.pipeline = parsed("blur"), .schedule = image::Schedule{}});
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.record().frames, count);
    ASSERT_FALSE(run.record().stages.empty());
    EXPECT_EQ(run.record().stages[0].pixels_computed, count * 6 * 4);
    EXPECT_FALSE(run.progress().total);
  }
}

TEST_F(VideoRunTest, EndsBeforeTheSourceDoesWhereOnlySoManyFramesAreAskedFor) {
  Counting frames(40);
  std::vector<int> samples;
  VideoRun run(*workplace_, source_of(frames, 40), sink_to(samples),
               {.pipeline = parsed("blur"), .frames = 7});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(samples, numbers(0, 7));
  EXPECT_EQ(run.progress().total, 7);
}

TEST_F(VideoRunTest, FailsWithoutAnyFrame) {
  Counting frames(0);
  std::vector<int> samples;
  VideoRun run(*workplace_, source_of(frames), sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::failure);
  EXPECT_THAT(done.error().message, HasSubstr("no frames"));
}

TEST_F(VideoRunTest, DeliversWhatASourceGaveBeforeItFailed) {
  Counting frames(40);
  std::vector<int> samples;
  VideoRun run(*workplace_,
               frames_source(small_gray,
                             [&](const std::stop_token&) -> Result<std::optional<video::Frame>> {
                               if (frames.given() == 5) return failure("the camera fell");
                               return frames.next();
                             }),
               sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the camera fell");
  EXPECT_EQ(samples, numbers(0, 5));
  EXPECT_EQ(run.record().frames, 5);
}

TEST_F(VideoRunTest, RefusesAFrameOfAnotherFormat) {
  Counting frames(3);
  Counting others(1, {.width = 8, .height = 4, .chroma = video::Chroma::gray});
  std::vector<int> samples;
  VideoRun run(*workplace_,
               frames_source(small_gray,
                             [&](const std::stop_token&) {
                               return frames.given() == 2 ? others.next() : frames.next();
                             }),
               sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("frame 2"));
  EXPECT_THAT(done.error().message, HasSubstr("8x4"));
  EXPECT_EQ(samples, numbers(0, 2));
}

TEST_F(VideoRunTest, EndsSoonAfterItsSinkFails) {
  Counting frames(200);
  int taken = 0;
  VideoRun run(*workplace_, source_of(frames), frames_sink([&](const video::Frame&) -> Status {
    if (taken == 3) return failure("the shelf is full");
    ++taken;
    return {};
  }),
               {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the shelf is full");
  EXPECT_EQ(taken, 3);
  EXPECT_LT(frames.given(), 200);
  EXPECT_EQ(run.record().frames, 3) << "what waited for a sink that failed was not taken";
  EXPECT_EQ(run.progress().frames, 3);
}

TEST_F(VideoRunTest, WhatFailsBesideAStopIsToldWithIt) {
  for (const int room : {0, 3}) {
    Counting frames(1 << 30);
    std::stop_source stop;
    int taken = 0;
    VideoRun run(*workplace_, source_of(frames), frames_sink([&](const video::Frame&) -> Status {
      if (taken == room) {
        stop.request_stop();
        return failure("the shelf is full");
      }
      ++taken;
      return {};
    }),
                 {.pipeline = parsed("blur"), .stop = stop.get_token()});
    const Status done = run.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
    EXPECT_EQ(done.error().message, fmt::format("interrupted after {} frames; the shelf is full", room));
  }
}

// One that has opened the pipe and takes nothing out of it.
class VideoRunToASleeper : public VideoRunTest, public ::testing::WithParamInterface<bool> {};

TEST_P(VideoRunToASleeper, EndsWhenItIsStopped) {
  TemporaryFolder folder;
  const std::string pipe = folder / "out.y4m";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto sleeper = Descriptor::owned(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(sleeper.is_open());
  video::FrameFormat format = small_gray;
  format.width = 640;
  format.height = 480;
  Counting frames(1 << 30, format);
  VideoRun run(*workplace_, source_of(frames, std::nullopt, format), file_sink(pipe),
               {.pipeline = parsed("blur"), .keep_part = GetParam()});
  std::jthread stopper([&] {
    while (frames.given() < 3)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until the pipe is full
    run.stop();
  });
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
}

INSTANTIATE_TEST_SUITE_P(KeepingWhatItTookOrNot, VideoRunToASleeper, ::testing::Bool());

TEST_F(VideoRunTest, StoppedFromOutsideKeepsWhatIsDone) {
  Counting frames(1 << 30);
  std::vector<int> samples;
  std::promise<void> some;
  VideoRun run(*workplace_, source_of(frames), frames_sink([&](const video::Frame&) -> Status {
    samples.push_back(0);
    if (samples.size() == 20) some.set_value();
    return {};
  }),
               {.pipeline = parsed("blur")});
  std::jthread stopper([&] {
    some.get_future().wait();
    run.stop();
  });
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_GE(run.record().frames, 20);
  EXPECT_EQ(run.record().frames, std::ssize(samples));
}

TEST_F(VideoRunTest, StopEndsTheWaitOfACallersSource) {
  std::vector<int> samples;
  std::stop_source stop;
  Counting frames(2);
  VideoRun run(*workplace_,
               frames_source(small_gray,
                             [&](const std::stop_token& asked) -> Result<std::optional<video::Frame>> {
                               if (frames.given() < 2) return frames.next();
                               std::promise<void> forever;
                               const std::stop_callback end(asked, [&] { forever.set_value(); });
                               stop.request_stop();
                               forever.get_future().wait();
                               return failure("woken");
                             }),
               sink_to(samples), {.pipeline = parsed("blur"), .stop = stop.get_token()});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(run.record().frames, std::ssize(samples));
}

TEST_F(VideoRunTest, WhatIsStoppedBeforeItsFirstFrameDoesNotSpeakOfAnOutput) {
  Counting frames(5);
  std::vector<int> samples;
  std::stop_source stop;
  stop.request_stop();
  VideoRun run(*workplace_, source_of(frames, 5), sink_to(samples),
               {.pipeline = parsed("blur"), .stop = stop.get_token()});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "interrupted after 0 frames; there is no output");
  EXPECT_TRUE(samples.empty());
}

TEST_F(VideoRunTest, WhatIsStoppedOnItsWayToNowhereDoesNotEither) {
  Counting frames(1 << 30);
  std::stop_source stop;
  VideoRunOptions options{.pipeline = parsed("blur"), .stop = stop.get_token()};
  options.on_progress = [&](const RunProgress&, const image::Schedule&) { stop.request_stop(); };
  VideoRun run(*workplace_, source_of(frames), file_sink("null"), options);
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_GT(run.record().frames, 0);
  EXPECT_THAT(done.error().message, HasSubstr("there is no output"));
}

TEST_F(VideoRunTest, AnInputThatIsGoneAtALaterPassFailsTheRun) {
  TemporaryFolder folder;
  const std::string input = folder / "in.y4m";
  std::ofstream(input, std::ios::binary) << "YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME\ncd";
  std::vector<int> samples;
  VideoRunOptions options{.pipeline = parsed("blur"), .passes = 1'000'000};
  options.on_progress = [&](const RunProgress&, const image::Schedule&) { std::filesystem::remove(input); };
  VideoRun run(*workplace_, file_source(input), sink_to(samples), options);
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::failure) << done.error().message;
  EXPECT_GT(run.record().frames, 0);
}

TEST_F(VideoRunTest, SaysHowFarItIsWhileItRuns) {
  Counting frames(25);
  std::vector<int> samples;
  std::vector<std::int64_t> seen;
  VideoRun run(*workplace_, source_of(frames, 25), sink_to(samples),
               {.pipeline = parsed("blur"),
                .schedule = image::Schedule{},
                .on_progress = [&](const RunProgress& progress, const image::Schedule&) {
                  EXPECT_EQ(progress.total, 25);
                  seen.push_back(progress.frames);
                }});
  ASSERT_TRUE(run.run());
  ASSERT_EQ(seen.size(), 25U);
  EXPECT_EQ(seen.back(), 25);
}

TEST_F(VideoRunTest, WhatCannotBeDoneIsRefusedBeforeAnythingIsWritten) {
  TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  for (const VideoRunOptions& options :
       {VideoRunOptions{.pipeline = parsed("blur"), .changes = {"3:rotate.degrees=60"}},
        VideoRunOptions{.pipeline = parsed("crop(1)"), .changes = {"3:crop.fraction=0.5"}},
        VideoRunOptions{.pipeline = parsed("blur"), .passes = 2},
        VideoRunOptions{.pipeline = parsed("blur"), .schedule = image::Schedule{.threads = 5000}}}) {
    Counting frames(10);
    VideoRun run(*workplace_, source_of(frames), file_sink(output), options);
    const Status done = run.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::usage) << done.error().message;
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST_F(VideoRunTest, EveryPassOverAFileComesBehindTheOneBefore) {
  std::vector<std::int64_t> indices;
  VideoRun run(*workplace_, file_source("test:32x32@5"),
               frames_sink([&](const video::Frame& frame) -> Status {
                 indices.push_back(frame.index);
                 return {};
               }),
               {.pipeline = parsed("blur"), .frames = 12, .passes = 3});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(indices.size(), 12U);
  EXPECT_TRUE(std::ranges::is_sorted(indices));
  EXPECT_EQ(run.progress().total, 12);
}

// Two passes over frames of the caller's own; where the threads run that ask for the first of each, and that
// take the last.
class VideoRunAffinity : public VideoRunTest,
                         public ::testing::WithParamInterface<machine::AffinityArrangement> {};

TEST_P(VideoRunAffinity, FramesAreReadAndWrittenWhereTheScheduleSaysFromTheFirstReadOn) {
  const auto& usable = machine_->usable.cpus;
  const image::Schedule schedule{.structure = image::Structure::sequential,
                                 .fusion = image::Fusion::none,
                                 .threads = 1,
                                 .affinity = GetParam()};
  const auto masks =
      machine::arrange(machine_->topology, usable, {.arrangement = schedule.affinity, .workers = 1});
  if (!masks) GTEST_SKIP() << "SKIPPED: " << masks.error().message;
  const machine::CpuSet expected = masks->io.empty() ? usable : masks->io;

  Counting frames(8);
  std::vector<machine::CpuSet> reading;
  VideoSource source = frames_source(small_gray, [&](const std::stop_token&) {
    if (frames.given() % 4 == 0 && (frames.given() == 0 || reading.size() == 2))
      reading.push_back(*machine::current_thread_affinity());
    // The end of the first pass comes after four.
    if (frames.given() == 4 && reading.size() == 1) {
      reading.emplace_back();
      return Result<std::optional<video::Frame>>(std::nullopt);
    }
    return frames.next();
  });
  source.repeatable = true;
  machine::CpuSet writing;
  VideoRun run(*workplace_, std::move(source), frames_sink([&](const video::Frame&) -> Status {
    writing = *machine::current_thread_affinity();
    return {};
  }),
               {.pipeline = parsed("blur"), .schedule = schedule, .passes = 2});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(run.record().frames, 8);
  if (!run.record().refused_affinities.empty()) GTEST_SKIP() << "SKIPPED: binding is refused here";
  ASSERT_GE(reading.size(), 3U);
  EXPECT_EQ(reading[0], expected);
  EXPECT_EQ(reading[2], expected);
  EXPECT_EQ(writing, expected);
}

// Into the passes to come, too, and back.
TEST_F(VideoRunTest, FramesAreReadWhereTheyAreToBeFromTheMomentThatIsSaid) {
  const auto& usable = machine_->usable.cpus;
  Counting frames(1000);
  std::mutex mutex;
  std::vector<machine::CpuSet> reading;
  VideoSource source = frames_source(small_gray, [&](const std::stop_token&) {
    const std::lock_guard lock(mutex);
    reading.push_back(*machine::current_thread_affinity());
    if (reading.size() % 50 == 0) return Result<std::optional<video::Frame>>(std::nullopt);
    return frames.next();
  });
  source.repeatable = true;
  InputPasses input(source, {}, 4, {});
  ASSERT_TRUE(input.open());
  input.start({{}, usable});
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto frame = input.next();
      ASSERT_TRUE(frame && *frame);
    }
  };
  const auto move_to = [&](const IoCpus& cpus) {
    input.move_to(cpus);
    const std::lock_guard lock(mutex);
    reading.emplace_back();
  };
  take(5);
  move_to({usable.first(1), usable});
  take(90);  // and into the second pass
  move_to({{}, usable});
  take(60);
  const std::lock_guard lock(mutex);
  std::vector<std::vector<machine::CpuSet>> parts(1);
  for (const machine::CpuSet& cpus : reading) {
    if (cpus.empty())
      parts.emplace_back();
    else
      parts.back().push_back(cpus);
  }
  ASSERT_GE(parts.size(), 3U);
  if (parts[1].back() != usable.first(1)) GTEST_SKIP() << "SKIPPED: binding is refused here";
  EXPECT_EQ(parts[0].front(), usable);
  // But for the frame that was being read when it was said.
  for (std::size_t i = 1; i < parts[1].size(); ++i)
    EXPECT_EQ(parts[1][i], usable.first(1)) << i;
  for (std::size_t i = 1; i < parts[2].size(); ++i)
    EXPECT_EQ(parts[2][i], usable) << i;
}

INSTANTIATE_TEST_SUITE_P(Arrangements, VideoRunAffinity,
                         ::testing::Values(machine::AffinityArrangement::free,
                                           machine::AffinityArrangement::pinned,
                                           machine::AffinityArrangement::io_same,
                                           machine::AffinityArrangement::io_diff,
                                           machine::AffinityArrangement::module_diff),
                         [](const auto& of) {
                           std::string name(machine::name_of(of.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Their length is known.
TEST_F(VideoRunTest, AShortRunTriesAndCompilesNothing) {
  Counting frames(12);
  std::vector<int> samples;
  VideoRun run(*workplace_, source_of(frames, 12), sink_to(samples), {.pipeline = parsed("blur | sobel_x")});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.record().decisions["trials"], 0);
  EXPECT_EQ(run.record().decisions["switches"], 1);
  EXPECT_EQ(run.record().compile_seconds, 0);
}

TEST_F(VideoRunTest, WhyNothingWasTriedIsInTheRecord) {
  for (const char* input : {"test:64x48@40", "test:1280x720@40"}) {
    VideoRun run(*workplace_, file_source(input), frames_sink([](const video::Frame&) { return Status(); }),
                 {.pipeline = parsed("blur | sobel_x | sobel_y")});
    ASSERT_TRUE(run.run());
    const auto& decisions = run.record().decisions;
    EXPECT_EQ(decisions["trials"], 0);
    EXPECT_EQ(decisions["events"].front()["event"], "started");
    EXPECT_EQ(decisions["events"].dump().contains(R"("event":"no trial")"), decisions["searched"]) << input;
    // The last where the machine is so busy that frames are generated more slowly than processed.
    EXPECT_THAT(run.record().explanation,
                ::testing::AnyOf(HasSubstr("listing other candidates takes longer"),
                                 HasSubstr("frames left: a trial costs more than it can gain"),
                                 HasSubstr("the run waits for its input or output")));
  }
}

// Of known and of unknown length. What an earlier run of the test compiled may be tried before the first
// wait.
TEST_F(VideoRunTest, ARunThatWaitsForItsOutputTriesNextToNothingAndSaysSo) {
  for (const std::optional<std::int64_t> total :
       {std::optional<std::int64_t>(100), std::optional<std::int64_t>()}) {
    Counting frames(100);
    SearchOptions alone;  // waking workers of a busy machine would count as computing
    alone.adaptive.freedom = {.max_threads = 1, .isas = {machine::best_isa()}};
    VideoRun run(*workplace_, source_of(frames, total), frames_sink([](const video::Frame&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(6));
      return Status();
    }),
                 {.pipeline = parsed("blur | sobel_x | sobel_y"), .schedule = alone});
    ASSERT_TRUE(run.run());
    EXPECT_LE(run.record().decisions["trials"], 2);
    EXPECT_LT(run.record().decisions["bound_share"], 0.5);
    EXPECT_THAT(run.record().explanation, HasSubstr("the run waits for its input or output"));
  }
}

// Takes frames as an encoder does: as many as it looks ahead at before anyone waits.
class LookingAhead final : public video::FrameWriter {
 public:
  explicit LookingAhead(std::int64_t ahead) : ahead_(ahead) {}
  [[nodiscard]] Status write(const video::Frame&) override {
    ++frames_;
    return {};
  }
  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  [[nodiscard]] std::int64_t frames_ahead() const override { return ahead_; }

 private:
  std::int64_t ahead_;
  std::int64_t frames_ = 0;
};

// Which is no sign that filters bind the run.
TEST_F(VideoRunTest, UntilItsEncoderIsFilledARunTriesNothing) {
  constexpr std::int64_t frames = 60;
  const video::FrameFormat large{.width = 1280, .height = 720, .chroma = video::Chroma::gray};
  for (const std::optional<std::int64_t> total :
       {std::optional<std::int64_t>(100'000), std::optional<std::int64_t>()}) {
    for (const std::int64_t ahead : {0, 20, 1000}) {
      Counting source(frames, large);
      VideoSink sink{.name = "an encoder"};
      sink.open = [ahead](const video::FrameFormat&,
                          const video::WriterOptions&) -> Result<std::unique_ptr<video::FrameWriter>> {
        return std::make_unique<LookingAhead>(ahead);
      };
      std::int64_t held_until = 0;
      VideoRunOptions options{.pipeline = parsed("levels(0, 1, 1.1)")};
      options.on_turn = [&](const RunSnapshot& turn) {
        if (turn.search->held()) held_until = turn.progress.frames;
        if (turn.search->held() && turn.search->searches()) {
          EXPECT_TRUE(turn.search->tuner().record().events().empty());
        }
      };
      VideoRun run(*workplace_, source_of(source, total, large), std::move(sink), options);
      const Status done = run.run();
      ASSERT_TRUE(done) << done.error().message;
      const auto& decisions = run.record().decisions;
      // And for the few turns that show what binds the run.
      EXPECT_LE(held_until, ahead == 0 ? 0 : ahead + 8);
      if (ahead < frames) {
        EXPECT_TRUE(decisions["bound_share"].is_number());
        continue;
      }
      EXPECT_EQ(held_until, frames);
      EXPECT_EQ(decisions["trials"], 0);
      EXPECT_EQ(decisions["searched"], !total);
      EXPECT_TRUE(decisions["bound_share"].is_null());
      EXPECT_THAT(run.record().explanation, HasSubstr("before anyone waits for it"));
    }
  }
}

// Whatever encodes them: a frame of this takes a thousand times as long as that.
TEST_F(VideoRunTest, FiltersThatTakeLongerThanAnyEncoderAreNotWaitedFor) {
  const video::FrameFormat small{.width = 64, .height = 48, .chroma = video::Chroma::gray};
  Counting source(20, small);
  VideoSink sink{.name = "an encoder"};
  sink.open = [](const video::FrameFormat&,
                 const video::WriterOptions&) -> Result<std::unique_ptr<video::FrameWriter>> {
    return std::make_unique<LookingAhead>(1000);
  };
  std::string slow = "median(2)";
  for (int i = 0; i < 20; ++i)
    slow += " | median(2)";
  VideoRunOptions options{.pipeline = parsed(slow)};
  bool held = true;
  options.on_turn = [&](const RunSnapshot& turn) { held = turn.search->held(); };
  VideoRun run(*workplace_, source_of(source, 20, small), std::move(sink), options);
  ASSERT_TRUE(run.run());
  EXPECT_FALSE(held);
}

// As bare H.264 says of itself while it is read.
TEST_F(VideoRunTest, WhatIsExpectedOfASourceCountsLikeWhatItSays) {
  TemporaryFolder folder;
  const std::string input = folder / "bare.264";
  VideoRun coding(*workplace_, file_source("test:64x48@10"), file_sink(folder / "a.mp4"),
                  {.pipeline = parsed("blur")});
  ASSERT_TRUE(coding.run());
  ASSERT_EQ(std::system(fmt::format("ffmpeg -v error -i '{}' -c copy '{}'", folder / "a.mp4", input).c_str()),
            0);
  for (const int passes : {1, 3}) {
    SearchOptions alone;  // waking workers of a busy machine would count as computing
    alone.adaptive.freedom = {.max_threads = 1, .isas = {machine::best_isa()}};
    VideoRun run(*workplace_, file_source(input), frames_sink([](const video::Frame&) { return Status(); }),
                 {.pipeline = parsed("blur"), .schedule = alone, .passes = passes});
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.record().frames, 10 * passes);
    EXPECT_EQ(run.record().decisions["searched"], false) << "it is soon over";
  }
}

TEST_F(VideoRunTest, AFileHoldsWhatWasDoneBeforeTheSourceFailed) {
  TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  Counting frames(40);
  VideoRun run(*workplace_,
               frames_source(small_gray,
                             [&](const std::stop_token&) -> Result<std::optional<video::Frame>> {
                               if (frames.given() == 5) return failure("the camera fell");
                               return frames.next();
                             }),
               file_sink(output), {.pipeline = parsed("blur")});
  ASSERT_FALSE(run.run());
  auto reader = video::open_reader(output);
  ASSERT_TRUE(reader) << reader.error().message;
  int there = 0;
  for (auto frame = (*reader)->next(); frame && *frame; frame = (*reader)->next())
    ++there;
  EXPECT_EQ(there, 5);
}

}  // namespace
}  // namespace millrace::run
