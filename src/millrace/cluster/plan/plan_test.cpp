#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/cluster/plan/digest.h"
#include "millrace/cluster/plan/job_plan.h"
#include "millrace/cluster/plan/time_runs.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::cluster {
namespace {

std::vector<std::int64_t> counted(std::int64_t count, std::int64_t step = 1) {
  std::vector<std::int64_t> times;
  for (std::int64_t i = 0; i < count; ++i)
    times.push_back(i * step);
  return times;
}

std::vector<std::int64_t> firsts(const std::vector<ChunkCut>& cuts) {
  std::vector<std::int64_t> result;
  for (const ChunkCut& cut : cuts)
    result.push_back(cut.first);
  return result;
}

TEST(ChunkCuts, AreMadeAtKeyFramesThatAreNear) {
  EXPECT_THAT(firsts(cut_chunks(counted(100), {0, 24, 48, 72, 96}, 25)),
              ::testing::ElementsAre(0, 24, 48, 72));
}

TEST(ChunkCuts, AreMadeInsideAGroupOfPicturesWhereItIsLong) {
  const auto cuts = cut_chunks(counted(100), {0}, 25);
  EXPECT_THAT(firsts(cuts), ::testing::ElementsAre(0, 25, 50, 75));
  EXPECT_EQ(cuts.back().key, 0);
  EXPECT_EQ(decoded_frames(cuts.back()), 100);
}

TEST(ChunkCuts, AShortRestGoesToTheChunkBefore) {
  EXPECT_EQ(cut_chunks(counted(104), {}, 25).size(), 4U);
  EXPECT_EQ(cut_chunks(counted(110), {}, 25).size(), 5U);
}

TEST(ChunkCuts, AChunkKnowsTheKeyFrameBeforeItAndOneEarlier) {
  const auto cuts = cut_chunks(counted(100), {0, 10, 20, 30, 40, 50}, 41);
  ASSERT_EQ(firsts(cuts).at(1), 40);
  EXPECT_EQ(cuts[1].key, 40);
  EXPECT_EQ(cuts[1].earlier_key, 30);
  EXPECT_EQ(cuts[0].key, 0);
  EXPECT_EQ(cuts[0].earlier_key, std::nullopt);
}

TEST(ChunkCuts, FramesThatFiltersReadAroundAChunkAreDecodedForIt) {
  const auto cuts = cut_chunks(counted(100), {0, 25, 50, 75}, 25, {.before = 2, .after = 1});
  ASSERT_EQ(firsts(cuts), (std::vector<std::int64_t>{0, 25, 50, 75}));
  EXPECT_EQ(cuts[0].before, 0) << "the video begins there";
  EXPECT_EQ(cuts[0].after, 1);
  EXPECT_EQ(cuts[1].before, 2);
  EXPECT_EQ(cuts[1].key, 0) << "frame 23 is not decoded from 25 on";
  EXPECT_EQ(decoded_frames(cuts[1]), 51);
  EXPECT_EQ(cuts[3].before, 2);
  EXPECT_EQ(cuts[3].after, 0) << "the video ends there";
}

TEST(ChunkCuts, ChunksShorterThanWhatFiltersReadReachBeyondTheNext) {
  const auto cuts = cut_chunks(counted(6), {0, 3}, 1, {.before = 3, .after = 3});
  ASSERT_EQ(cuts.size(), 6U);
  EXPECT_EQ(cuts[1].before, 1);
  EXPECT_EQ(cuts[1].after, 3);
  EXPECT_EQ(cuts[4].before, 3);
  EXPECT_EQ(cuts[4].after, 1);
  EXPECT_EQ(cuts[5].key, 0);
}

// For any video: every frame is in exactly one chunk, no chunk is empty, and none is decoded from a later
// keyframe.
TEST(ChunkCuts, EveryFrameIsInOneChunk) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto up_to = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    std::vector<std::int64_t> times{up_to(100) - 50};
    for (std::int64_t i = up_to(60); i > 0; --i)
      times.push_back(times.back() + 1 + (up_to(9) == 0 ? up_to(500) : up_to(3)));
    std::vector<std::int64_t> keys;
    for (std::int64_t frame = 0; frame < std::ssize(times); ++frame)
      if (up_to(5) == 0) keys.push_back(frame);
    const std::int64_t length = 1 + up_to(80);
    const image::NeighbouringFrames neighbours{.before = static_cast<int>(up_to(4)),
                                               .after = static_cast<int>(up_to(4))};
    const auto cuts = cut_chunks(times, keys, length, neighbours);
    std::int64_t next = 0;
    for (const ChunkCut& cut : cuts) {
      ASSERT_EQ(cut.first, next);
      ASSERT_GE(cut.frames, 1);
      next += cut.frames;
      ASSERT_LE(cut.key.value_or(0), first_read(cut));
      ASSERT_EQ(cut.before, std::min<std::int64_t>(neighbours.before, cut.first));
      ASSERT_EQ(cut.after, std::min<std::int64_t>(neighbours.after, std::ssize(times) - next));
      ASSERT_LT(cut.earlier_key.value_or(-1), cut.key.value_or(0));
      // Not much longer than requested, except for gaps between frames.
      const auto time_of = [&](std::int64_t frame) { return times[static_cast<std::size_t>(frame)]; };
      if (cut.frames > 1) {
        ASSERT_LE(time_of(cut.first + cut.frames - 2) - time_of(cut.first), length + length / 2 + 1);
      }
    }
    ASSERT_EQ(next, std::ssize(times));
  }
}

TEST(TimeRuns, ComeBackAsTheyWere) {
  EXPECT_EQ(to_time_runs({}), "");
  EXPECT_EQ(to_time_runs({-3}), "-3");
  EXPECT_EQ(to_time_runs({0, 33, 66, 100, 133}), "0 33x2 34 33");
  std::mt19937_64 random(6);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> times;
    for (std::size_t i = random() % 30; i > 0; --i)
      times.push_back((times.empty() ? 0 : times.back()) + static_cast<std::int64_t>(random() % 3));
    EXPECT_EQ(parse_time_runs(to_time_runs(times), 30), times);
  }
}

TEST(TimeRuns, WhatIsNoneIsRefused) {
  for (const char* text : {"a", "1x", "x3", "3x2", "1 2x0", "1 2x-1", "1 2x99999999999",
                           "9223372036854775807 1", "1  2", "1 2x3x4", "1 2x31"})
    EXPECT_EQ(parse_time_runs(text, 30), std::nullopt) << text;
}

JobPlan small_plan() {
  JobPlan plan{.version = "1",
               .input = "/a/b.mkv",
               .input_bytes = 5,
               .input_digest = "d",
               .chunk_seconds = 1,
               .frames = 50,
               .time_base_numerator = 1,
               .time_base_denominator = 25,
               .times = counted(50)};
  plan.options.pipeline = "blur";
  plan.options.input = plan.input;
  plan.options.encoder_threads = 4;
  plan.chunks = cut_chunks(plan.times, {0, 30}, 20, {.before = 1, .after = 2});
  plan.id = digest_of(plan);
  return plan;
}

TEST(JobPlans, ComeBackAsTheyWere) {
  const JobPlan plan = small_plan();
  const auto read = parse_plan(to_json(plan).dump(), "plan");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(plan));
  EXPECT_EQ(read->id, plan.id);
}

TEST(JobPlans, AreTheSameWhereverTheInputIs) {
  JobPlan plan = small_plan();
  const std::string before = plan.id;
  plan.input = "/elsewhere";
  EXPECT_EQ(digest_of(plan), before);
  plan.options.pipeline = "sobel_x";
  EXPECT_NE(digest_of(plan), before);
}

// Whatever is removed or damaged gives a one-line error and no crash. Accepted plans are consistent.
TEST(JobPlans, DamagedOnesAreRefusedInOneLine) {
  const std::string text = to_json(small_plan()).dump();
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string spoilt = text;
    for (std::size_t i = 1 + random() % 3; i > 0; --i) {
      const std::size_t at = random() % spoilt.size();
      if (random() % 2 == 0)
        spoilt.erase(at, 1 + random() % 8);
      else
        spoilt[at] = "0123456789-nx{}[],"[random() % 18];
      if (spoilt.empty()) spoilt = "x";
    }
    const auto read = parse_plan(spoilt, "plan");
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
      continue;
    }
    std::int64_t frames = 0;
    for (const ChunkCut& cut : read->chunks) {
      EXPECT_EQ(cut.first, frames);
      frames += cut.frames;
    }
    EXPECT_EQ(frames, read->frames);
    if (read->has_times()) {
      EXPECT_EQ(std::ssize(read->times), frames);
    }
  }
}

// Invalid numbers are not replaced by the nearest valid ones.
TEST(JobPlans, NumbersThatCannotBeAreRefused) {
  const nlohmann::json good = nlohmann::json::parse(to_json(small_plan()).dump());
  const auto refused = [&](const char* place, const nlohmann::json& value) {
    nlohmann::json spoilt = good;
    spoilt[nlohmann::json::json_pointer(place)] = value;
    return !parse_plan(spoilt.dump(), "plan");
  };
  for (const char* place :
       {"/frames", "/rate/0", "/rate/1", "/time_base/0", "/time_base/1", "/chunks/0/first",
        "/chunks/0/frames", "/chunks/1/before", "/chunks/0/after", "/chunks/1/key", "/chunks/1/earlier_key",
        "/input/bytes", "/options/encoder_threads", "/options/crf"}) {
    const nlohmann::json whole = good[nlohmann::json::json_pointer(place)];
    if (whole.is_number()) {
      EXPECT_TRUE(refused(place, whole.get<double>() + 0.5)) << place;
    }
    for (const char* number :
         {"1e300", "-1e300", "18446744073709551615", "-9223372036854775808", "\"1\"", "true"})
      EXPECT_TRUE(refused(place, nlohmann::json::parse(number))) << place << " " << number;
  }
  for (const char* place : {"/rate/0", "/time_base/1", "/options/encoder_threads", "/options/crf"})
    EXPECT_TRUE(refused(place, (std::int64_t{1} << 32) + 4)) << place;
  EXPECT_TRUE(refused("/times", "-9223372036854775808 40x49"));
  EXPECT_TRUE(refused("/times", "9223372036854775000 1x49"));
}

TEST(FileDigests, TellFilesApartThatDifferInOneByte) {
  const TemporaryFolder folder;
  std::string content(300'000, 'a');
  make_file(folder / "a", content);
  content[150'000] = 'b';
  make_file(folder / "b", content);
  EXPECT_EQ(digest_of_file(folder / "a")->bytes, 300'000U);
  EXPECT_NE(*digest_of_file(folder / "a"), *digest_of_file(folder / "b"));
  EXPECT_EQ(*sampled_digest_of_file(folder / "a"), *sampled_digest_of_file(folder / "a"));
  make_file(folder / "c", std::string(300'001, 'a'));
  EXPECT_NE(*sampled_digest_of_file(folder / "a"), *sampled_digest_of_file(folder / "c"));
  make_file(folder / "empty", "");
  EXPECT_EQ(sampled_digest_of_file(folder / "empty")->bytes, 0U);
  EXPECT_FALSE(digest_of_file(folder / "none"));
}

}  // namespace
}  // namespace millrace::cluster
