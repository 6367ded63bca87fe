#include "millrace/report/comparison/x264_study.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

namespace millrace::report {
namespace {

// Runs with four lookahead threads have 0.9 times the frames per second, and 1.2 times with batch.
EncoderObservations observations(bool quick) {
  EncoderObservations observed{.cpus = 2, .clips = "none"};
  for (const EncoderSetting& setting : encoder_settings(quick)) {
    if (setting.scheduling_class == EncoderClass::rr) continue;
    const double more = setting.scheduling_class == EncoderClass::batch ? 1.2 : 0.9;
    const double fps = 100 * (setting.lookahead > 1 ? more : 1);
    observed.runs[setting] = {.fps = {fps, 2 * fps, fps}, .switches = {3, 4, 5}, .waiting_ms = {1, 1, 1}};
  }
  observed.missing[EncoderClass::rr] = "not permitted";
  return observed;
}

const PlotValue* value(const ComparisonTable& table, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column && table.rows[row].values[i]) return &*table.rows[row].values[i];
  return nullptr;
}

TEST(X264Study, TakesRatiosTurnByTurnAndSaysWhatIsMissing) {
  for (const bool quick : {false, true}) {
    const auto comparison = compare(observations(quick));
    ASSERT_TRUE(comparison);
    ASSERT_TRUE(check({.comparisons = {*comparison}}));
    const ComparisonTable& changes = comparison->tables[1];
    EXPECT_EQ(changes.rows.size(), quick ? 1U : 4U);
    ASSERT_TRUE(value(changes, 0, "other") && value(changes, 0, "batch") && value(changes, 0, "CFS"));
    EXPECT_NEAR(value(changes, 0, "other")->mean, -10, 1e-6);
    EXPECT_NEAR(value(changes, 0, "batch")->mean, 20, 1e-6);
    EXPECT_NEAR(value(changes, 0, "CFS")->mean, -22.7, 0.05);
    EXPECT_EQ(value(changes, 0, "rr"), nullptr);
    EXPECT_NE(comparison->findings.back().find("not permitted"), std::string::npos);
    EXPECT_NE(comparison->findings.front().find("here too"), std::string::npos);
  }
}

// One lookahead thread: all classes have the same frame rate, so the ratio is 1.
TEST(X264Study, SaysWhatOtherClassesAreToOther) {
  const auto comparison = compare(observations(false));
  ASSERT_TRUE(comparison);
  const auto says = [&](std::string_view text) {
    return std::ranges::any_of(comparison->findings,
                               [&](const std::string& finding) { return finding.contains(text); });
  };
  EXPECT_TRUE(says("SD, 4 threads, one for the look-ahead: batch 1.00 times as fast as other (1.00 to 1.00), "
                   "with 4.0 context switches a frame instead of 4.0; fifo"));
  EXPECT_TRUE(says("HD, 4 threads, one for"));
  EXPECT_FALSE(says("rr 1.00"));
}

TEST(X264Study, PlotsEveryClassThatWasMeasured) {
  EncoderObservations observed = observations(false);
  for (const EncoderSetting& setting : encoder_settings(false))
    if (!observed.runs.contains(setting)) observed.runs[setting] = {{100, 100}, {1, 1}, {1, 1}};
  const auto comparison = compare(observed);
  ASSERT_TRUE(comparison);
  const auto& series = std::get<BarPlot>(comparison->plots.front()).series;
  for (const EncoderClass shown :
       {EncoderClass::other, EncoderClass::batch, EncoderClass::rr, EncoderClass::fifo})
    EXPECT_TRUE(std::ranges::any_of(series, [&](const BarSeries& one) {
      return one.name.starts_with(std::string(name_of(shown)) + ", ");
    }));
}

TEST(X264Study, WithoutRunsIsNoStudy) { EXPECT_FALSE(compare(EncoderObservations{})); }

}  // namespace
}  // namespace millrace::report
