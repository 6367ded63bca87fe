// The page of a study, and the same for programs.
#pragma once

#include "millrace/report/study/study_result.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::report {

// HTML in one file that needs nothing else: no network, no script. Well-formed XML too.
[[nodiscard]] std::string study_page(const StudyResult& study);

// {"runs", "seconds", "machine", "inputs", "figures": [{"figure", "summary", "findings", "cases"}]}; times in
// milliseconds a frame, with "mean", "low" and "high" of the 95 % interval and every run; a case that could
// not be measured has "missing" in their place. Keys are stable: others may be added.
[[nodiscard]] nlohmann::ordered_json to_json(const StudyResult& study);

}  // namespace millrace::report
