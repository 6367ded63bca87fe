// The timeline of decisions for people and programs.
#pragma once

#include "millrace/tuning/record/decision_record.h"
#include "millrace/tuning/space/space.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::tuning {

// One line, with times relative to `start`:
// "   1.240 s  trial      threads=2: 0.812x [0.790, 0.840] of threads=1 in 17 frames; it is a close rival,
// looked at again, and is better beyond doubt"
[[nodiscard]] std::string describe(const Event& event, const Space& space, double start);

// A cost ratio with its interval, or only a lower bound if the interval is wide: "at least 1.10x".
[[nodiscard]] std::string ratio_text(double ratio, double low, double high);

// An object with the time in seconds after `start` ("time"), the kind ("event") and the candidate's name
// ("candidate").
//
// Trials and new incumbents also have: the candidate they were compared with ("against"), the frames they ran
// ("frames"), their typical cost ("cost"), the cost ratio with its interval ("ratio", "low", "high"), the
// reason for trying them ("chosen"), and the outcome ("verdict").
//
// Declined trials have: the remaining frames ("frames_left", null if unknown), the expected gain and loss
// ("expected_gain_seconds", "expected_loss_seconds"), and the share of saved time that the stream gains
// ("bound_share", up to 1).
[[nodiscard]] nlohmann::json to_json(const Event& event, const Space& space, double start);

}  // namespace millrace::tuning
