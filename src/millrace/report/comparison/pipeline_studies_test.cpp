#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/report/comparison/pipeline_studies.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::report {
namespace {

// A machine of two PEs on which every run that is asked for took 2 s divided by its PEs.
PipelineObservations observations(PipelineStudy study) {
  PipelineObservations observed{.pes = 2, .quick = true};
  observed.times[StudyProgram::similar] = {
      model::pipeline("read 0.1ms; load 1ms; segment 1ms; rank 2ms; output ordered 1us"), 500, 2};
  observed.times[StudyProgram::dedup] = {
      model::pipeline(
          "read 0.5ms; refine 1ms; digest 1ms; deduplicate ordered 0.1ms; compress 4ms; write ordered 0.5ms"),
      300, 2};
  observed.four_stages =
      ServiceTimes{model::pipeline("names 1us; read 0.5ms; compute 4ms; output ordered 1us"), 500, 2};
  for (const ProgramSetting& setting : settings_of(study, observed.pes, observed.quick))
    observed.runs[setting] = {.seconds = {2.0 / setting.pes, 2.0 / setting.pes},
                              .stages = {{"read", 1, 0.1}, {"load", setting.threads, 0.5}}};
  return observed;
}

class PipelineStudies : public testing::TestWithParam<PipelineStudy> {};

TEST_P(PipelineStudies, MakeAPageWithoutGapsAndWithASentenceOnWhatAgrees) {
  const auto comparison = compare(GetParam(), observations(GetParam()));
  ASSERT_TRUE(comparison) << comparison.error().message;
  ComparisonPage page{.command = "millrace study", .comparisons = {*comparison}};
  const Status whole = check(page);
  ASSERT_TRUE(whole) << whole.error().message;
  const std::string html = to_page(page);
  EXPECT_NE(html.find(name_of(GetParam())), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_GE(comparison->plots.size(), 1U);
  EXPECT_EQ(to_json(page)["studies"][0]["tables"].size(), comparison->tables.size());
}

TEST_P(PipelineStudies, CallMeasuredOnlyWhatWasRun) {
  PipelineObservations nothing = observations(GetParam());
  nothing.runs.clear();
  const auto comparison = compare(GetParam(), nothing);
  ASSERT_TRUE(comparison) << comparison.error().message;
  for (const ComparisonTable& table : comparison->tables)
    for (const ComparisonRow& row : table.rows)
      for (std::size_t i = 0; i < row.values.size(); ++i)
        EXPECT_FALSE(table.columns[i].origin == Origin::measured && row.values[i]) << table.caption;
}

// What the paper says must not depend on this machine, and what is of this machine not on the paper.
TEST_P(PipelineStudies, KeepTheFiguresOfThePaperApart) {
  PipelineObservations other = observations(GetParam());
  for (auto& [program, times] : other.times) {
    for (model::Stage& stage : times.pipeline.stages)
      stage.service = model::ServiceTime::exponential(2 * stage.service.mean_seconds());
    times.sequential_seconds *= 2;
  }
  for (model::Stage& stage : other.four_stages->pipeline.stages)
    stage.service = model::ServiceTime::exponential(2 * stage.service.mean_seconds());
  const auto one = compare(GetParam(), observations(GetParam()));
  const auto two = compare(GetParam(), other);
  ASSERT_TRUE(one && two);
  for (std::size_t t = 0; t < one->tables.size(); ++t) {
    const ComparisonTable& table = one->tables[t];
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const auto& a = table.rows[r].values[c];
        const auto& b = two->tables[t].rows[r].values[c];
        ASSERT_EQ(a.has_value(), b.has_value());
        if (!a) continue;
        const bool of_service_times =
            table.columns[c].unit == "s" &&
            (table.columns[c].origin == Origin::predicted || table.columns[c].origin == Origin::simulated);
        if (table.columns[c].origin == Origin::paper) {
          EXPECT_EQ(a->mean, b->mean);
        } else if (of_service_times && a->mean > 0) {
          EXPECT_NEAR(b->mean / a->mean, 2, 0.2) << table.caption << ", " << table.columns[c].name;
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PipelineStudies,
                         testing::ValuesIn(all_pipeline_studies().begin(), all_pipeline_studies().end()),
                         [](const auto& test) {
                           std::string name(name_of(test.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(PipelineStudyNames, AreThereOnce) {
  std::set<std::string_view> names;
  for (const PipelineStudy study : all_pipeline_studies())
    names.insert(name_of(study));
  EXPECT_EQ(names.size(), all_pipeline_studies().size());
}

// Table 1 of the paper: 6/6 threads take 370.6 s, which is 1.2 times the speed of one and 19.7 % of six
// cores.
TEST(PipelineTables, StateThePapersTable1) {
  const auto comparison = compare(PipelineStudy::table1, observations(PipelineStudy::table1));
  ASSERT_TRUE(comparison);
  const ComparisonTable& own = comparison->tables.front();
  ASSERT_EQ(own.rows.front().keys.front(), "1");
  EXPECT_NEAR(own.rows.front().values[0]->mean, 370.6, 1e-9);
  EXPECT_NEAR(own.rows.front().values[1]->mean, 1.2, 0.05);
  EXPECT_NEAR(own.rows.front().values[2]->mean, 19.7, 0.1);
}

TEST(ComparisonPage, ThatHasGapsIsRefused) {
  const auto good = compare(PipelineStudy::fig10b, observations(PipelineStudy::fig10b));
  ASSERT_TRUE(good);
  ComparisonPage page{.comparisons = {*good}};
  ASSERT_TRUE(check(page));
  page.comparisons[0].tables[0].rows[0].values.pop_back();
  EXPECT_FALSE(check(page));
  page.comparisons[0] = *good;
  for (ComparisonRow& row : page.comparisons[0].tables[0].rows)
    row.values[1].reset();
  EXPECT_FALSE(check(page));
  page.comparisons[0] = *good;
  page.comparisons[0].tables[0].rows[0].values[1] = PlotValue{std::nan(""), 0, 0};
  EXPECT_FALSE(check(page));
  page.comparisons[0] = *good;
  page.comparisons[0].findings.clear();
  EXPECT_FALSE(check(page));
}

}  // namespace
}  // namespace millrace::report
