// A recorded run for tests.
#pragma once

#include "millrace/model/pipeline/recorded_calls.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::model {

inline nlohmann::json call(const char* stage, int item, double milliseconds) {
  return {{"name", stage}, {"ph", "X"}, {"dur", 1000 * milliseconds}, {"args", {{"item", item}}}};
}

inline Stage stage(const char* name, StageKind kind, double outputs = 1) {
  return {.name = name, .kind = kind, .outputs = outputs};
}

// A source, a stage that splits items, one that some parts bypass, and an ordered sink.
inline Pipeline splitting() {
  return {.stages = {stage("read", StageKind::serial), stage("cut", StageKind::parallel, 2),
                     stage("pack", StageKind::parallel), stage("write", StageKind::ordered)}};
}

// Item 0 becomes three parts, one of which is packed. Item 1 is a single part, which is packed.
inline nlohmann::json trace() {
  nlohmann::json events = nlohmann::json::array();
  events.push_back(call("read", 0, 1));
  events.push_back(call("cut", 0, 2));
  events.push_back(call("pack", 0, 8));
  for (int part = 0; part < 3; ++part)
    events.push_back(call("write", 0, 0.5));
  events.push_back(call("read", 1, 1));
  events.push_back(call("cut", 1, 3));
  events.push_back(call("pack", 1, 6));
  events.push_back(call("write", 1, 0.5));
  events.push_back(call("read", 2, 0.1));  // the source's end
  return {{"traceEvents", events}};
}

inline const std::vector<double> busy{2e-3, 5e-3, 14e-3, 2e-3};

inline Pipeline replayed(const nlohmann::json& events = trace()) {
  Pipeline pipeline = splitting();
  auto calls = parse_recorded_calls(events.dump(), "trace.json", pipeline, 2, busy);
  EXPECT_TRUE(calls) << (calls ? "" : calls.error().message);
  for (Stage& one : pipeline.stages)
    one.service = ServiceTime::constant(1);  // must not be used
  pipeline.recorded = std::make_shared<const RecordedCalls>(std::move(*calls));
  return pipeline;
}

}  // namespace millrace::model
