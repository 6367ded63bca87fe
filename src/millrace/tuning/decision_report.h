// The time line of decisions for people and for programs.
#pragma once

#include "millrace/tuning/decision_record.h"
#include "millrace/tuning/space.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::tuning {

// One line, times relative to `start`:
// "   1.240 s  trial      threads=2: 0.812x [0.790, 0.840] of threads=1 in 17 frames, is better beyond doubt"
[[nodiscard]] std::string describe(const Event& event, const Space& space, double start);

// {"time": s, "event": ..., "candidate": ..., "against": ..., "frames": n, "cost": s, "ratio": x, "low": x,
// "high": x,
//  "chosen": why, "verdict": why}; what an event does not have is left out.
[[nodiscard]] nlohmann::json to_json(const Event& event, const Space& space, double start);

}  // namespace millrace::tuning
