// The common parts of report pages: a style sheet, and tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// The head of a page with the style of text, tables and plots, up to the start of its body; well-formed XML.
// `more`: additions to the style sheet.
[[nodiscard]] std::string page_head(std::string_view title, std::string_view more = "");

// text: any, will be escaped; more: attributes, not escaped.
[[nodiscard]] std::string cell(std::string_view text, std::string_view more = "");
[[nodiscard]] std::string heading_row(const std::vector<std::string>& names);
[[nodiscard]] std::string table(const std::string& rows);

}  // namespace millrace::report
