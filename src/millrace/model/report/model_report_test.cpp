#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/report/model_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using testing::HasSubstr;

TEST(ModelReport, RecommendsTheFewestCoresThatAreAsGood) {
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
  const Pipeline given = pipeline("load 1ms; work 4ms");
  EXPECT_FALSE(answer({}, {.cores = {1}}));
  EXPECT_FALSE(answer(given, {}));
  EXPECT_FALSE(answer(given, {.cores = {0}}));
  EXPECT_FALSE(answer(given, {.cores = {1}, .tokens = 0}));
  EXPECT_FALSE(answer(given, {.cores = {1}, .queue = 0}));
  EXPECT_FALSE(answer(given, {.cores = {1}, .items = 0}));
}

}  // namespace
}  // namespace millrace::model
