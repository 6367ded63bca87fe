#include "millrace/run/options/recording_json.h"
#include "millrace/run/options/run_report.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

RunReport made_up() {
  RunReport report;
  RunRecord& record = report.record;
  record.input_format = {.width = 64, .height = 48};
  record.output_format = record.input_format;
  record.frames = 40;
  record.wall_seconds = 0.5;
  record.compute_seconds = 0.12;
  record.first_frame_seconds = 0.03;
  record.stages = {{.stages = "blur",
                    .frames = 40,
                    .pixels_computed = 40 * 1000,
                    .pixels_required = 40 * 1000,
                    .timed_ns = 6'000'000,
                    .timed_pixels = 3'000},
                   {.stages = "sobel_x", .frames = 40, .pixels_computed = 40 * 1000}};
  return report;
}

nlohmann::ordered_json json_of(const RunReport& report) {
  return to_json(report, machine::inspect_machine().value());
}

TEST(RunReport, FiguresAFrameAreThoseOfTheFramesThatTheRunProcessed) {
  const auto json = json_of(made_up());
  EXPECT_EQ(json["frames"], 40);
  EXPECT_DOUBLE_EQ(json["fps"].get<double>(), 80);
  EXPECT_DOUBLE_EQ(json["first_frame_seconds"].get<double>(), 0.03);
  // 2 us per pixel.
  EXPECT_DOUBLE_EQ(json["stages"][0]["cpu_ms_per_frame"].get<double>(), 2);
  EXPECT_TRUE(json["stages"][1]["cpu_ms_per_frame"].is_null()) << "nothing of it was timed";
  EXPECT_THAT(to_text(made_up()), HasSubstr("40 frames of"));
  EXPECT_THAT(to_text(made_up()), HasSubstr("80.0 fps, 3.00 ms a frame computing"));
}

TEST(RunReport, LatencyIsToldInMilliseconds) {
  RunReport report = made_up();
  EXPECT_TRUE(json_of(report)["latency_ms"].is_null()) << "nothing was written";
  report.record.latency.record(0.004, 98);
  report.record.latency.record(0.1);
  report.record.latency.record(0.25);
  const auto latency = json_of(report)["latency_ms"];
  // Within the precision of histogram buckets.
  EXPECT_NEAR(latency["median"].get<double>(), 4, 0.25);
  EXPECT_NEAR(latency["p99"].get<double>(), 100, 6.25);
  EXPECT_DOUBLE_EQ(latency["most"].get<double>(), 250);
}

TEST(RunReport, WhatIsMeasuredIsSummedUpByItsMedian) {
  RunReport report = made_up();
  report.measured = MeasuredComputation{.frames_in_memory = 8, .ms_per_frame = {4, 1, 9, 2}};
  const auto json = json_of(report);
  EXPECT_EQ(json["measured_ms_per_frame"], (std::vector<double>{4, 1, 9, 2}));
  EXPECT_EQ(json["median_ms_per_frame"], 3);
  EXPECT_EQ(json["repetitions"], 4);
  EXPECT_EQ(json["frames_in_memory"], 8);
  EXPECT_THAT(to_text(report), HasSubstr("4 times: 3.000 ms a frame (median; 1.000 to 9.000)"));
  report.measured->ms_per_frame.push_back(1.5);
  EXPECT_EQ(json_of(report)["median_ms_per_frame"], 2);
}

TEST(RunReport, TimesOfATurnAreSharedOutAmongItsFramesButForTheSlowest) {
  RunReport report = made_up();
  RunRecording recording;
  recording.frame_times = {
      {.at = 0.5, .frames = 1, .computing = 0.004, .input_wait = 0.001, .output_wait = 0, .slowest = 0.004},
      {.at = 1.25,
       .frames = 8,
       .computing = 0.016,
       .input_wait = 0.002,
       .output_wait = 0.024,
       .slowest = 0.007}};
  report.record.recording = std::make_shared<RunRecording>(std::move(recording));
  const auto json = json_of(report);
  const auto& times = json["frame_times"];
  EXPECT_EQ(times["at_seconds"], (std::vector<double>{0.5, 1.25}));
  EXPECT_EQ(times["frames"], (std::vector<int>{1, 8}));
  EXPECT_EQ(times["computing_ms"], (std::vector<double>{4, 2}));
  EXPECT_EQ(times["input_wait_ms"], (std::vector<double>{1, 0.25}));
  EXPECT_EQ(times["output_wait_ms"], (std::vector<double>{0, 3}));
  EXPECT_EQ(times["slowest_ms"], (std::vector<double>{4, 7}));
}

}  // namespace
}  // namespace millrace::run
