#include "millrace/report/plot/page.h"

#include "millrace/base/text/escaped_markup.h"
#include "millrace/report/plot/plots.h"

#include <fmt/format.h>

namespace millrace::report {
namespace {

constexpr std::string_view page_style = R"(
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 sans-serif; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--grid); padding-top: 1rem; }
p, li { max-width: 48rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.88rem; }
th, td { border-bottom: 1px solid var(--grid); padding: 0.25rem 0.75rem 0.25rem 0; text-align: left;
  vertical-align: top; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
.soft { color: var(--soft); }
.agrees { color: var(--c2); font-weight: bold; } .differs { color: var(--c3); font-weight: bold; }
.open, .not-here { color: var(--soft); font-weight: bold; }
summary { cursor: pointer; }
)";

}  // namespace

std::string page_head(std::string_view title, std::string_view more) {
  return fmt::format("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\"/>\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                     "<title>{}</title>\n<style>\n{}{}{}</style>\n</head>\n<body>\n",
                     escaped_markup(title), plot_style(), page_style, more);
}

std::string cell(std::string_view text, std::string_view more) {
  return fmt::format("<td{}>{}</td>", more, escaped_markup(text));
}

std::string heading_row(const std::vector<std::string>& names) {
  std::string row = "<tr>";
  for (const std::string& name : names)
    row += fmt::format("<th>{}</th>", escaped_markup(name));
  return row + "</tr>\n";
}

std::string table(const std::string& rows) {
  return "<div class=\"wide\"><table>\n" + rows + "</table></div>\n";
}

}  // namespace millrace::report
