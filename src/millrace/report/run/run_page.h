// The page of a run, or of two.
#pragma once

#include "millrace/report/run/run_document.h"

#include <optional>
#include <string>

namespace millrace::report {

// HTML in one file that needs nothing else: no network, and a script for one plot alone, which is there
// without it too. Below 500 KB whatever the run. Well-formed XML.
[[nodiscard]] std::string run_page(const RunDocument& run,
                                   const std::optional<RunDocument>& other = std::nullopt);

// The same of what `millrace run` writes as JSON, from `name`.
[[nodiscard]] Result<std::string> run_page_of(const nlohmann::json& record, const std::string& name);

// What came of the run and what it waited for, in plain sentences.
[[nodiscard]] std::string verdict_of(const RunDocument& run);
// What the second did otherwise than the first.
[[nodiscard]] std::string verdict_of(const RunDocument& first, const RunDocument& second);

}  // namespace millrace::report
