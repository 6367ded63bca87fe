// The time line of decisions for people and for programs.
#pragma once

#include "millrace/tuning/record/decision_record.h"
#include "millrace/tuning/space/space.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::tuning {

// One line, times relative to `start`:
// "   1.240 s  trial      threads=2: 0.812x [0.790, 0.840] of threads=1 in 17 frames, is better beyond doubt"
[[nodiscard]] std::string describe(const Event& event, const Space& space, double start);

// An object with the time in seconds after `start` ("time"), the kind ("event") and the name of the candidate
// ("candidate").
//
// Of trials and new incumbents also: what they were compared with ("against"), the frames they ran
// ("frames"), their typical cost ("cost"), the ratio of the costs with its interval ("ratio", "low", "high"),
// why they were tried ("chosen"), and how it ended ("verdict").
//
// Of trials that were not made: the frames that were left ("frames_left", null where nobody knows), what was
// expected of them ("expected_gain_seconds", "expected_loss_seconds"), and what the stream gains of the time
// that is saved ("bound_share", up to 1).
[[nodiscard]] nlohmann::json to_json(const Event& event, const Space& space, double start);

}  // namespace millrace::tuning
