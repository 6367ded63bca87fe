#include "millrace/model/report/model_report.h"

#include <nlohmann/json.hpp>

namespace millrace::model {

nlohmann::json to_json(const ModelReport& report) {
  nlohmann::json stages = nlohmann::json::array();
  const auto demand = demands(report.pipeline);
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const Stage& stage = report.pipeline.stages[i];
    stages.push_back({{"name", stage.name},
                      {"kind", to_string(stage.kind)},
                      {"service_s", stage.service.mean_seconds()},
                      {"cv", stage.service.cv()},
                      {"demand_s", demand[i]}});
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const ModelRow& row : report.rows) {
    nlohmann::json pools = nlohmann::json::array();
    for (const Pool& pool : row.plan.pools)
      pools.push_back(
          {{"first_stage", pool.first_stage}, {"last_stage", pool.last_stage}, {"threads", pool.threads}});
    nlohmann::json entry{{"strategy", to_string(row.plan.strategy)},
                         {"asked", row.asked},
                         {"cores", row.plan.cores},
                         {"threads", row.plan.threads()},
                         {"pools", pools},
                         {"seconds", row.prediction.point_seconds},
                         {"low_seconds", row.prediction.low_seconds},
                         {"high_seconds", row.prediction.high_seconds},
                         {"speed_up", row.speed_up},
                         {"efficiency", row.speed_up / row.plan.cores},
                         {"limit", row.prediction.limit}};
    if (row.plan.tokens > 0) entry["tokens"] = row.plan.tokens;
    if (row.plan.strategy != Strategy::stealing) entry["queue"] = row.plan.queue;
    rows.push_back(std::move(entry));
  }
  return {{"schema", "millrace.model"},
          {"version", 1},
          {"items", report.items},
          {"sequential_seconds", report.sequential_seconds},
          {"slowest_serial_stage", report.slowest_serial},
          {"serial_seconds", report.serial_seconds},
          {"method", report.simulated ? "simulation" : "formulas"},
          {"stages", std::move(stages)},
          {"predictions", std::move(rows)},
          {"recommended", report.recommended},
          {"why", report.why}};
}

}  // namespace millrace::model
