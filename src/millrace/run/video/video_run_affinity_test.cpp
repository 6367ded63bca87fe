#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/run/video/input_passes.h"
#include "millrace/run/video/video_run_testing.h"

#include <algorithm>
#include <fcntl.h>
#include <mutex>

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

// Two passes over the caller's own frames. Records the CPUs of the threads that request the first frame of
// each pass and take the last one.
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
    // The end of the first pass is requested after four frames.
    if (frames.given() == 4 && reading.size() == 1) {
      reading.emplace_back();
      return Result<std::optional<video::Frame>>(std::nullopt);
    }
    return frames.next();
  });
  source.repeatable = true;
  machine::CpuSet writing;
  VideoRun run(*context_, std::move(source), frames_sink([&](const video::Frame&) -> Status {
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

// Also in later passes, and back again.
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
  take(90);  // into the second pass
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
  // Except for the frame that was being read at that time.
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

}  // namespace
}  // namespace millrace::run
