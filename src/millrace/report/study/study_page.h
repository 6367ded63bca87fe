// The page of a study, and its JSON.
#pragma once

#include "millrace/report/study/study_result.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::report {

// A self-contained HTML file without network access or scripts. Well-formed XML.
[[nodiscard]] std::string study_page(const StudyResult& study);

// {"runs", "seconds", "machine", "inputs", "figures": [{"figure", "summary", "findings", "cases"}]}. Times
// are in milliseconds per frame, with "mean", "low" and "high" of the 95 % interval and every run. A case
// that could not be measured has "missing" instead. Keys are stable; others may be added.
[[nodiscard]] nlohmann::ordered_json to_json(const StudyResult& study);

}  // namespace millrace::report
