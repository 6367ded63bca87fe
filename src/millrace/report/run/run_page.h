// The page of a run, or of two.
#pragma once

#include "millrace/report/run/run_document.h"

#include <optional>
#include <string>

namespace millrace::report {

// A self-contained HTML file without network access. Its only script serves one plot, which is also there
// without it. Below 500 KB for any run. Well-formed XML.
[[nodiscard]] std::string run_page(const RunDocument& run,
                                   const std::optional<RunDocument>& other = std::nullopt);

// The same from the JSON of `millrace run`, read from `name`.
[[nodiscard]] Result<std::string> run_page_of(const nlohmann::json& record, const std::string& name);

// The outcome of the run and its bottleneck, in plain sentences.
[[nodiscard]] std::string verdict_of(const RunDocument& run);
// How the second run differed from the first.
[[nodiscard]] std::string verdict_of(const RunDocument& first, const RunDocument& second);

}  // namespace millrace::report
