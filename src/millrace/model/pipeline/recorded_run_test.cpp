#include "millrace/base/numbers/histogram_json.h"
#include "millrace/model/pipeline/recorded_run.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json stage(const char* name, const char* kind, int in, int out, double busy) {
  return {{"name", name},   {"kind", kind},     {"blocking", false}, {"threads", 0},
          {"items_in", in}, {"items_out", out}, {"busy_s", busy}};
}

json report() {
  json result{{"schema", "millrace.stream.run"},
              {"version", 1},
              {"strategy", "stealing"},
              {"threads", 4},
              {"tokens", 16},
              {"wall_s", 2.5},
              {"stages", json::array()}};
  Histogram times;
  for (int i = 1; i <= 1000; ++i)
    times.record(1e-6 * i);
  json source = stage("read", "source", 1000, 1000, 0);
  source["service_s"] = to_json(times);
  result["stages"].push_back(source);
  result["stages"].push_back(stage("cut", "parallel", 1000, 5000, 2));
  json pack = stage("pack", "parallel", 3000, 3000, 6);
  pack["blocking"] = true;
  result["stages"].push_back(pack);
  result["stages"].push_back(stage("tally", "serial as they come", 5000, 5000, 0.1));
  result["stages"].push_back(stage("write", "serial in order", 5000, 0, 0.5));
  return result;
}

TEST(RecordedRun, BecomesAPipelineWithTheSameWork) {
  const auto run = parse_recorded_run(report().dump(), "run.json");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->items, 1000);
  EXPECT_EQ(run->strategy, "stealing");
  EXPECT_EQ(run->threads, 4);
  EXPECT_EQ(run->tokens, 16);
  EXPECT_EQ(run->wall_seconds, 2.5);
  const auto& stages = run->pipeline.stages;
  ASSERT_EQ(stages.size(), 5U);
  EXPECT_EQ(stages[1].outputs, 5);
  EXPECT_DOUBLE_EQ(stages[2].visits, 0.6);
  EXPECT_TRUE(stages[2].waits);
  EXPECT_EQ(stages[3].kind, StageKind::serial);
  EXPECT_EQ(stages[4].kind, StageKind::ordered);
  // The histogram's mean is exact; its variation is that of a uniform distribution.
  EXPECT_NEAR(stages[0].service.mean_seconds(), 500.5e-6, 1e-12);
  EXPECT_NEAR(stages[0].service.cv(), 1 / std::sqrt(3.0), 0.03);
  // The demand of each stage equals its busy time.
  const auto demand = demands(run->pipeline);
  EXPECT_NEAR(1000 * demand[1], 2, 1e-9);
  EXPECT_NEAR(1000 * demand[2], 6, 1e-9);
  EXPECT_NEAR(1000 * demand[4], 0.5, 1e-9);
}

TEST(RecordedRun, ThatIsDamagedIsRefusedByName) {
  const auto message = [](const json& content) {
    const auto run = parse_recorded_run(content.dump(), "run.json");
    return run ? "" : run.error().message;
  };
  EXPECT_FALSE(parse_recorded_run("{", "run.json"));
  EXPECT_THAT(message(json::array()), HasSubstr("run.json: not the report of a run"));
  json other = report();
  other["schema"] = "other";
  EXPECT_THAT(message(other), HasSubstr("not the report of a run"));
  json empty = report();
  empty["stages"].clear();
  EXPECT_THAT(message(empty), HasSubstr("no \"stages\""));
  json unknown = report();
  unknown["stages"][1]["kind"] = "magic";
  EXPECT_THAT(message(unknown), HasSubstr("stage 'cut': unknown kind 'magic'"));
  json negative = report();
  negative["stages"][1]["items_in"] = -1;
  EXPECT_THAT(message(negative), HasSubstr("stage 'cut': no \"items_in\""));
  json histogram = report();
  histogram["stages"][0]["service_s"]["count"] = "many";
  EXPECT_THAT(message(histogram), HasSubstr("stage 'read'"));
}

}  // namespace
}  // namespace millrace::model
