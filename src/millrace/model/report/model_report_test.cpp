#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/report/model_report.h"
#include "millrace/model/report/paper_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using testing::HasSubstr;

TEST(ModelReport, RecommendsTheFewestCoresThatAreAsGood) {
  MILLRACE_RELEASE_ONLY();
  const auto report =
      answer(pipeline("load 1ms; work 4ms; out serial 10us"), {.cores = {1, 2, 4, 8, 16, 64}});
  ASSERT_TRUE(report);
  const ModelRow& chosen = report->rows[report->recommended];
  EXPECT_EQ(chosen.plan.cores, 8);
  for (const ModelRow& row : report->rows) {
    EXPECT_GE(row.prediction.point_seconds, chosen.prediction.point_seconds / 1.04);
    EXPECT_GE(row.prediction.point_seconds, 0.97 * report->serial_seconds);
  }
  EXPECT_EQ(report->slowest_serial, "load");
  const auto json = to_json(*report);
  EXPECT_EQ(json["predictions"].size(), report->rows.size());
  EXPECT_EQ(json["predictions"][report->recommended]["cores"], 8);
  EXPECT_THAT(to_text(*report), HasSubstr("Take "));
}

TEST(ModelReport, RefusesWhatCannotBe) {
  MILLRACE_RELEASE_ONLY();
  const Pipeline given = pipeline("load 1ms; work 4ms");
  EXPECT_FALSE(answer({}, {.cores = {1}}));
  EXPECT_FALSE(answer(given, {}));
  EXPECT_FALSE(answer(given, {.cores = {0}}));
  EXPECT_FALSE(answer(given, {.cores = {1}, .tokens = 0}));
  EXPECT_FALSE(answer(given, {.cores = {1}, .queue = 0}));
  EXPECT_FALSE(answer(given, {.cores = {1}, .items = 0}));
}

std::vector<PaperRow> paper_rows(std::string_view stages, const PaperQuestion& question) {
  auto rows = paper_answer(pipeline(stages), question);
  EXPECT_TRUE(rows);
  return rows.value_or(std::vector<PaperRow>{});
}

// By hand: 4 ms of parallel work in two stages of 1 and 3 ms after a source of 0.5 ms. With 4 threads, two in
// each, the open pipeline's throughput is 2 / 3 ms; collapsed, 4 / 4 ms. With 16, the source limits both.
TEST(PaperCases, AnOpenPipelineIsAsFastAsItsSlowestStage) {
  const auto rows =
      paper_rows("load 0.5ms; a 1ms; b 3ms", {.cases = {PaperCase::open}, .threads = {4, 16}, .items = 1000});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_NEAR(rows[0].seconds, 1.5, 1e-9);
  EXPECT_NEAR(rows[1].seconds, 0.5, 1e-9);
  EXPECT_TRUE(rows[2].collapsed);
  EXPECT_NEAR(rows[2].seconds, 1, 1e-9);
  EXPECT_NEAR(rows[3].seconds, 0.5, 1e-9);
  EXPECT_NEAR(rows[2].speed_up, 4.5, 1e-9);
}

// One queue for c threads is full if there are as many tokens as threads and service times are alike. With
// many tokens its throughput is c / T, and no structure exceeds that.
TEST(PaperCases, NothingBeatsTheIdealQueueAndTheSerialStage) {
  for (const int tokens : {8, 40, 4000}) {
    const auto rows = paper_rows("load 0.1ms; a 2ms; b 1.9ms",
                                 {.cases = {PaperCase::closed, PaperCase::stealing, PaperCase::ideal},
                                  .threads = {8},
                                  .tokens = tokens,
                                  .items = 1000});
    ASSERT_EQ(rows.size(), 4U);
    const double ideal = rows[3].seconds;
    EXPECT_GE(ideal, 0.5 - 1e-9);
    if (tokens == 4000) {
      EXPECT_NEAR(ideal, 0.5, 1e-3);
    }
    for (const PaperRow& row : rows)
      EXPECT_GE(row.seconds, 0.1) << to_string(row.which);
  }
}

TEST(PaperCases, RefuseWhatCannotBe) {
  const Pipeline given = pipeline("load 1ms; work 4ms");
  EXPECT_FALSE(paper_answer(given, {.cases = {PaperCase::open}, .threads = {0}}));
  EXPECT_FALSE(paper_answer(given, {.cases = {PaperCase::closed}, .threads = {1}, .queue = 0}));
  EXPECT_FALSE(paper_answer(given, {.cases = {PaperCase::ideal}, .threads = {1}, .tokens = 0}));
  EXPECT_FALSE(paper_answer({}, {.cases = {PaperCase::open}, .threads = {1}}));
  EXPECT_EQ(paper_case_of("ideal"), PaperCase::ideal);
  EXPECT_FALSE(paper_case_of("perfect"));
}

}  // namespace
}  // namespace millrace::model
