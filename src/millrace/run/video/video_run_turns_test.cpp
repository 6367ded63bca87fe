#include "millrace/base/error/clock.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/run/video/run_recorder.h"
#include "millrace/run/video/video_run_testing.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

// Times that the caller observes. The start and end of each latency measurement lie between two of them.
struct Moments {
  explicit Moments(int frames)
      : asked(static_cast<std::size_t>(frames) + 1), read(asked), taken_up(asked), begun(asked),
        written(asked) {}

  std::vector<std::int64_t> asked;     // by frame: when the source was asked for it
  std::vector<std::int64_t> read;      // when the source returned it
  std::vector<std::int64_t> taken_up;  // latest time before it was taken up
  std::vector<std::int64_t> begun;     // when the sink was given it
  std::vector<std::int64_t> written;   // when the sink had it
};

// One frame at a time through filters that read `after` later ones. The source waits before some frames; the
// sink holds the first one until three are read.
Moments run_and_watch(ExecutionContext& context, int count, const char* pipeline, bool live,
                      Histogram& latency) {
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
  VideoRun run(context, std::move(source), frames_sink([&](const video::Frame&) -> Status {
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
    const Moments at = run_and_watch(*context_, count, pipeline, true, latency);
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
  const Moments at = run_and_watch(*context_, count, "blur", false, latency);
  std::int64_t most = 0;
  for (std::size_t k = 0; k < count; ++k)
    most += at.begun[k + 1] - std::max(at.read[k], at.taken_up[k]);
  EXPECT_LE(latency.sum(), 1.000001 * seconds(most));
}

// Returns each frame when allowed, and reports if permission was late.
VideoSource source_when_allowed(Counting& frames, std::counting_semaphore<>& allowed, bool& late) {
  return frames_source(small_gray, [&](const std::stop_token&) {
    late = late || !allowed.try_acquire_for(std::chrono::seconds(20));
    return frames.next();
  });
}

// A batch has many small frames, but must not wait for any beyond the first round. Here each frame arrives
// only after those of the previous round have been handed on.
TEST_F(VideoRunTest, WaitsForNoMoreFramesThanAreProcessedSideBySide) {
  constexpr int in_flight = 2;
  auto context = ExecutionContext::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(context) << context.error().message;
  for (const char* pipeline : {"blur", "temporal_average(3)"}) {
    const int ahead = pipeline[0] == 'b' ? 0 : 1;  // later frames that a frame depends on
    Counting frames(101);
    std::counting_semaphore<> allowed(in_flight + ahead);
    bool late = false;
    std::vector<int> samples;
    VideoRun run(**context, source_when_allowed(frames, allowed, late),
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

SearchOptions search_of_small_frames(ExecutionContext& context) {
  SearchOptions search;
  search.adaptive.freedom = {.max_threads = context.threads(), .isas = {machine::best_isa()}};
  return search;
}

// A sender that waits for the result of a frame must not wait for the second frame of a round.
TEST_F(VideoRunTest, ASearchOverALiveSourceComputesOneFrameAtATime) {
  auto context = ExecutionContext::make_shared(*machine_, 4, image::KernelCache());
  ASSERT_TRUE(context) << context.error().message;
  for (const tuning::Aim aim : {tuning::Aim::throughput, tuning::Aim::latency, tuning::Aim::deadline}) {
    Counting frames(300);
    std::counting_semaphore<> allowed(1);
    bool late = false;
    SearchOptions search = search_of_small_frames(**context);
    search.adaptive.objective = {.aim = aim, .deadline = 1e-3};
    VideoRun run(**context, source_when_allowed(frames, allowed, late),
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

// If every frame has other parameters, batches have one frame and reveal nothing about larger ones.
// The frames are large: a run that mostly waits for its input rightly begins no search.
TEST_F(VideoRunTest, ASearchGoesOnWhereAParameterChangesWithEveryFrame) {
  auto context = ExecutionContext::make_shared(*machine_, 2, image::KernelCache());
  ASSERT_TRUE(context) << context.error().message;
  constexpr video::FrameFormat format{.width = 1280, .height = 720, .chroma = video::Chroma::gray};
  Counting frames(1000, format);
  VideoSource source = source_of(frames, 1000, format);
  source.live = false;
  VideoRun run(**context, std::move(source), frames_sink([](const video::Frame&) -> Status { return {}; }),
               {.pipeline = parsed("rotate(0)"),
                .changes = {"1..999:rotate.degrees=80"},
                .schedule = search_of_small_frames(**context)});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(run.record().decisions->events.size(), 0U) << "it was told nothing";
  EXPECT_EQ(run.record().schedule.frames_in_flight, 1);
}

// The slowest frame is a single frame, although several are timed together.
TEST_F(VideoRunTest, TheSlowestFrameOfALongTurnIsOneFrame) {
  constexpr int in_flight = 2;
  auto context = ExecutionContext::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(context) << context.error().message;
  Counting frames(300);
  std::vector<int> samples;
  VideoRun run(**context, source_of(frames), sink_to(samples),
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

// If they are available, many small frames form one batch, in order.
TEST_F(VideoRunTest, ComputesManySmallFramesInATurn) {
  constexpr int in_flight = 3;
  auto context = ExecutionContext::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(context) << context.error().message;
  for (const int count : {1, 2, 3, 4, 200}) {
    Counting frames(count);
    std::atomic<std::int64_t> asked = 0;
    std::vector<int> samples;
    int batches = 0;
    VideoRun run(**context,
                 frames_source(small_gray,
                               [&](const std::stop_token&) {
                                 ++asked;
                                 return frames.next();
                               }),
                 sink_to(samples),
                 {.pipeline = parsed("blur"),
                  .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight},
                  .on_progress = [&](const RunProgress& progress, const image::Schedule&) {
                    ++batches;
                    // Until two rounds have been read ahead, if there are that many.
                    for (int i = 0; i < 50 && asked < std::min<std::int64_t>(count, progress.frames + 7); ++i)
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  }});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, numbers(0, count));
    if (count <= in_flight) {
      EXPECT_EQ(batches, 1);
    } else if (count > 100) {
      EXPECT_LT(batches, count / in_flight * 2 / 3);
    }
  }
}

TEST_F(VideoRunTest, AsManyFramesWaitAtEitherEndAsAreProcessedSideBySide) {
  constexpr int in_flight = 4;
  // Large enough that a batch is one round of them.
  constexpr video::FrameFormat large{.width = 1024, .height = 1024, .chroma = video::Chroma::gray};
  // A shared context allows this many frames on any machine, although not at the same moment.
  auto context = ExecutionContext::make_shared(*machine_, in_flight, image::KernelCache());
  ASSERT_TRUE(context) << context.error().message;
  Counting frames(40, large);
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t given = 0;
  std::int64_t ready = 0;
  // Until the first frame is taken, four more wait to be written and the rest of the second four wait for
  // room. One frame is being read and four wait behind these eight.
  constexpr std::int64_t most = 2 * in_flight + in_flight + 1;
  std::vector<int> samples;
  const auto all_there = [&] { return given >= most && ready >= in_flight; };
  VideoRun run(**context,
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

}  // namespace
}  // namespace millrace::run
