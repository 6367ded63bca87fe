#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/run/batch/batch.h"

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

image::Pipeline pipeline_of(const std::string& text) {
  auto pipeline = image::parse_pipeline(text);
  EXPECT_TRUE(pipeline) << pipeline.error().message;
  return *pipeline;
}

// All samples of all frames, concatenated.
struct Samples {
  std::vector<std::uint8_t> bytes;
  int frames = 0;

  void add(const video::Frame& frame) {
    for (int p = 0; p < frame.planes(); ++p) {
      const video::PlaneView plane = frame.plane(p);
      for (int y = 0; y < plane.height; ++y)
        bytes.insert(bytes.end(), plane.row<std::uint8_t>(y), plane.row<std::uint8_t>(y) + plane.width);
    }
    ++frames;
  }
};

VideoSink sink_into(Samples& samples) {
  return frames_sink([&](const video::Frame& frame) -> Status {
    samples.add(frame);
    return {};
  });
}

class BatchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    machine_ = new machine::MachineReport(*machine::inspect_machine());
    context_ = ExecutionContext::make_shared(*machine_, 4, image::KernelCache())->release();
  }
  static void TearDownTestSuite() {
    delete context_;
    delete machine_;
  }

  static BatchJob job(const std::string& input, VideoSink sink, const std::string& pipeline = "blur") {
    return {.source = file_source(input),
            .sink = std::move(sink),
            .options = {.pipeline = pipeline_of(pipeline)},
            .kind = pipeline,
            .weight = 1};
  }
  static BatchJob to_nowhere(const std::string& input) { return job(input, file_sink("null")); }

  static machine::MachineReport* machine_;
  static ExecutionContext* context_;
};
machine::MachineReport* BatchTest::machine_ = nullptr;
ExecutionContext* BatchTest::context_ = nullptr;

TEST_F(BatchTest, RunsAllJobsWithTheBitsThatEachHasAlone) {
  using image::Structure;
  std::vector<image::Schedule> schedules;
  for (const Structure structure : {Structure::tiled, Structure::sequential, Structure::sliding})
    for (const int in_flight : {1, 3})
      schedules.push_back({.structure = structure,
                           .fusion = image::Fusion::none,
                           .tile = {64, 16},
                           .threads = 4,
                           .frames_in_flight = in_flight,
                           .isa = machine::best_isa()});
  const std::vector<std::string> inputs{"test:96x64@7", "test:64x48@12,seed=2", "test:50x38@5,422"};
  std::vector<Samples> alone(inputs.size());
  auto context = ExecutionContext::make(*machine_, 1);
  ASSERT_TRUE(context);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    VideoRun run(**context, file_source(inputs[i]), sink_into(alone[i]),
                 {.pipeline = pipeline_of("blur | rotate(9)")});
    ASSERT_TRUE(run.run());
  }
  std::vector<Samples> together(inputs.size() * (schedules.size() + 1));
  std::vector<BatchJob> jobs;
  for (std::size_t j = 0; j < together.size(); ++j) {
    jobs.push_back(job(inputs[j % inputs.size()], sink_into(together[j]), "blur | rotate(9)"));
    if (const std::size_t s = j / inputs.size(); s < schedules.size())
      jobs.back().options.schedule = schedules[s];
  }
  Batch batch(*context_, std::move(jobs), {.side_by_side = 4});
  ASSERT_TRUE(batch.run());
  for (std::size_t j = 0; j < together.size(); ++j) {
    ASSERT_TRUE(batch.results()[j].outcome) << batch.results()[j].outcome.error().message;
    EXPECT_EQ(batch.results()[j].record.frames, alone[j % inputs.size()].frames);
    EXPECT_TRUE(together[j].bytes == alone[j % inputs.size()].bytes) << j;
  }
  EXPECT_GE(batch.most_side_by_side(), 2);  // four such short jobs need not overlap
  EXPECT_LE(batch.most_side_by_side(), 4);
}

TEST_F(BatchTest, AFailedJobKeepsNoOtherFromRunning) {
  std::vector<BatchJob> jobs;
  jobs.push_back(to_nowhere("test:32x32@3"));
  jobs.push_back(to_nowhere("/missing.mp4"));
  jobs.push_back(to_nowhere("test:32x32@4"));
  jobs.push_back(
      job("test:32x32@4", frames_sink([](const video::Frame&) -> Status { return failure("no room"); })));
  jobs.push_back(to_nowhere("test:32x32@5"));
  jobs.back().source.open = [](const video::ReaderOptions&) -> Result<std::unique_ptr<video::FrameReader>> {
    throw std::runtime_error("thrown");
  };
  jobs.push_back(to_nowhere("test:32x32@6"));
  Batch batch(*context_, std::move(jobs), {});
  ASSERT_TRUE(batch.run());
  const auto& results = batch.results();
  for (const std::size_t good : {0U, 2U, 5U})
    EXPECT_TRUE(results[good].outcome);
  EXPECT_EQ(results[5].record.frames, 6);
  EXPECT_THAT(results[1].outcome.error().message, HasSubstr("/missing.mp4"));
  EXPECT_THAT(results[3].outcome.error().message, HasSubstr("no room"));
  EXPECT_THAT(results[4].outcome.error().message, HasSubstr("thrown"));
}

TEST_F(BatchTest, AStopEndsWhatRunsAndBeginsNothing) {
  std::stop_source stop;
  std::atomic<int> after = 0;
  std::vector<BatchJob> jobs;
  for (int j = 0; j < 8; ++j)
    jobs.push_back(to_nowhere("test:64x48@1000000"));
  Batch batch(*context_, std::move(jobs),
              {.side_by_side = 2,
               .stop = stop.get_token(),
               .on_progress =
                   [&](const BatchProgress& progress) {
                     for (const auto& running : progress.running)
                       if (running.progress.frames > 0) stop.request_stop();
                   },
               .after = [&](std::size_t, const RunRecord&) -> Status {
                 ++after;
                 return {};
               }});
  const Status done = batch.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(std::ranges::count_if(batch.results(), [](const auto& result) { return result.begun; }), 2);
  for (const BatchResult& result : batch.results()) {
    if (!result.begun) continue;
    EXPECT_EQ(result.outcome.error().kind, ErrorKind::interrupted);
    EXPECT_FALSE(result.record.output_complete);
  }
  EXPECT_EQ(after, 0);
}

TEST_F(BatchTest, AStopBeforeTheBeginBeginsNothing) {
  std::stop_source stop;
  stop.request_stop();
  Batch batch(*context_, {to_nowhere("test:32x32@3")}, {.stop = stop.get_token()});
  EXPECT_EQ(batch.run().error().kind, ErrorKind::interrupted);
  EXPECT_FALSE(batch.results()[0].begun);
}

TEST_F(BatchTest, JobsThatDoNotFitIntoMemoryTogetherRunInTurn) {
  std::atomic<int> reading = 0;
  std::atomic<int> most = 0;
  std::vector<BatchJob> jobs;
  for (int j = 0; j < 6; ++j) {
    jobs.push_back(job("test:64x48@6", frames_sink([&, last = std::make_shared<std::atomic<int>>(0)](
                                                       const video::Frame& frame) -> Status {
                         if (frame.index == 0) most = std::max(most.load(), ++reading);
                         if (frame.index == 5) --reading;
                         return {};
                       })));
  }
  Batch batch(*context_, std::move(jobs), {.side_by_side = 4, .memory_bytes = 1});
  ASSERT_TRUE(batch.run());
  EXPECT_EQ(most, 1);
  for (const BatchResult& result : batch.results())
    EXPECT_TRUE(result.outcome);
}

TEST_F(BatchTest, TheWaitForMemoryIsNoTimeSpentSideBySide) {
  std::vector<BatchJob> jobs;
  for (int j = 0; j < 4; ++j)
    jobs.push_back(to_nowhere("test:96x64@40"));
  Batch batch(*context_, std::move(jobs), {.side_by_side = 4, .memory_bytes = 1});
  ASSERT_TRUE(batch.run());
  EXPECT_EQ(batch.most_side_by_side(), 1);
  EXPECT_THAT(batch.explain(), Contains(HasSubstr("4 side by side, ")));
  EXPECT_THAT(batch.explain(), Contains(HasSubstr("1 side by side: relative speed")));
  for (const char* never :
       {"2 side by side: relative", "3 side by side: relative", "4 side by side: relative"})
    EXPECT_THAT(batch.explain(), Not(Contains(HasSubstr(never))));
}

TEST_F(BatchTest, TheWaitForWorkersIsToldApartFromComputing) {
  auto context = ExecutionContext::make_shared(*machine_, 1, image::KernelCache());
  ASSERT_TRUE(context);
  // Repeated, because on a busy machine the jobs may not meet.
  EXPECT_TRUE(eventually([&] {
    std::vector<BatchJob> jobs;
    for (int j = 0; j < 3; ++j)
      jobs.push_back(to_nowhere("test:320x240@30"));
    const std::int64_t start = now_ns();
    Batch batch(**context, std::move(jobs), {.side_by_side = 3});
    EXPECT_TRUE(batch.run());
    const double elapsed = seconds(now_ns() - start);
    double computed = 0;
    double waited = 0;
    for (const BatchResult& result : batch.results()) {
      computed += result.record.compute_seconds;
      waited += result.record.worker_wait_seconds;
    }
    EXPECT_GT(computed, 0);
    EXPECT_LE(computed, elapsed) << "one worker computes one frame at a time";
    return waited > 0;
  }));
}

TEST_F(BatchTest, TheLargestOfAKindBeginFirst) {
  std::mutex mutex;
  std::vector<std::size_t> begun;
  std::vector<BatchJob> jobs;
  for (const double weight : {1.0, 5.0, 3.0, 5.0}) {
    jobs.push_back(to_nowhere("test:32x32@2"));
    jobs.back().weight = weight;
  }
  Batch batch(*context_, std::move(jobs), {.side_by_side = 1, .before = [&](std::size_t job) -> Result<bool> {
                                             const std::scoped_lock lock(mutex);
                                             begun.push_back(job);
                                             return true;
                                           }});
  ASSERT_TRUE(batch.run());
  EXPECT_EQ(begun, (std::vector<std::size_t>{1, 3, 2, 0}));
}

TEST_F(BatchTest, WhatIsAskedForBeforeAndAfterAJobMayFailItOrSpareIt) {
  std::atomic<int> ended = 0;
  Batch batch(*context_,
              {to_nowhere("test:32x32@2"), to_nowhere("test:32x32@3"), to_nowhere("test:32x32@4"),
               to_nowhere("test:32x32@5")},
              {.before = [](std::size_t job) -> Result<bool> {
                 if (job == 0) return failure("not now");
                 return job != 3;
               },
               .after = [](std::size_t job, const RunRecord& record) -> Status {
                 if (job == 1) return failure("{} frames are too many", record.frames);
                 return {};
               },
               .ended = [&](std::size_t) { ++ended; }});
  ASSERT_TRUE(batch.run());
  EXPECT_EQ(ended, 4);
  EXPECT_TRUE(batch.results()[3].outcome);
  EXPECT_TRUE(batch.results()[3].skipped);
  EXPECT_EQ(batch.results()[3].record.frames, 0);
  EXPECT_FALSE(batch.results()[2].skipped);
  EXPECT_EQ(batch.results()[0].outcome.error().message, "not now");
  EXPECT_EQ(batch.results()[1].outcome.error().message, "3 frames are too many");
  EXPECT_TRUE(batch.results()[2].outcome);
}

TEST_F(BatchTest, ExplainsWhatItBegan) {
  Batch batch(*context_, {to_nowhere("test:32x32@2"), to_nowhere("test:32x32@3")}, {});
  ASSERT_TRUE(batch.run());
  EXPECT_THAT(batch.explain(), Contains(HasSubstr("test:32x32@3, ")));
}

TEST_F(BatchTest, KeepsDecisionsWhereTheyAreAskedFor) {
  for (const bool keep : {true, false}) {
    Batch batch(*context_, {to_nowhere("test:32x32@2")}, {.keep_decisions = keep});
    ASSERT_TRUE(batch.run());
    EXPECT_EQ(batch.results()[0].record.decisions.has_value(), keep);
    EXPECT_EQ(batch.results()[0].record.explanation.empty(), !keep);
    EXPECT_EQ(batch.results()[0].record.frames, 2);
  }
}

TEST_F(BatchTest, WithoutJobsIsDone) {
  Batch batch(*context_, {}, {});
  EXPECT_TRUE(batch.run());
}

}  // namespace
}  // namespace millrace::run
