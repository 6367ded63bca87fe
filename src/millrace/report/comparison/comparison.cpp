#include "millrace/report/comparison/comparison.h"

#include "millrace/base/text/escaped_markup.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::report {
namespace {

constexpr std::string_view comparison_style = R"(
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 sans-serif; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--grid); padding-top: 1rem; }
p, li { max-width: 48rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.5rem; }
.plots > div { max-width: 38rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.88rem; }
caption { text-align: left; padding-bottom: 0.5rem; }
th, td { border-bottom: 1px solid var(--grid); padding: 0.25rem 0.75rem 0.25rem 0; text-align: left;
  vertical-align: top; }
th { white-space: nowrap; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.soft { color: var(--soft); font-weight: normal; }
)";

std::string number(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 4 : 6);
}

std::string text_of(const std::optional<PlotValue>& value) {
  if (!value) return "-";
  if (!value->known) return number(value->mean) + " (interval not known)";
  if (value->low == value->high) return number(value->mean);
  return fmt::format("{} ({} to {})", number(value->mean), number(value->low), number(value->high));
}

std::string html_of(const ComparisonTable& table) {
  std::string html =
      fmt::format("<div class=\"wide\"><table>\n<caption>{}</caption>\n<tr>", escaped_markup(table.caption));
  for (const std::string& key : table.keys)
    html += fmt::format("<th>{}</th>", escaped_markup(key));
  for (const ComparisonColumn& column : table.columns)
    html +=
        fmt::format("<th>{}{}<br/><span class=\"soft\">{}</span></th>", escaped_markup(column.name),
                    column.unit.empty() ? "" : ", " + escaped_markup(column.unit), name_of(column.origin));
  html += "</tr>\n";
  for (const ComparisonRow& row : table.rows) {
    html += "<tr>";
    for (const std::string& key : row.keys)
      html += fmt::format("<td>{}</td>", escaped_markup(key));
    for (const auto& value : row.values)
      html += fmt::format("<td>{}</td>", text_of(value));
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string section_of(const Comparison& comparison) {
  std::string html = fmt::format(
      "<section id=\"{}\">\n<h2>{}</h2>\n<p><b>The paper:</b> {}</p>\n<p><b>Here:</b> {}</p>\n<ul>\n",
      escaped_markup(comparison.name), escaped_markup(comparison.title), escaped_markup(comparison.paper),
      escaped_markup(comparison.about));
  for (const std::string& finding : comparison.findings)
    html += fmt::format("<li>{}</li>\n", escaped_markup(finding));
  html += "</ul>\n<div class=\"plots\">\n";
  for (const auto& plot : comparison.plots)
    html += "<div>" + std::visit([](const auto& one) { return to_svg(one); }, plot) + "</div>\n";
  html += "</div>\n";
  for (const ComparisonTable& table : comparison.tables)
    html += html_of(table);
  return html + "</section>\n";
}

Status check(const Comparison& comparison, const ComparisonTable& table) {
  const auto wrong = [&](std::string_view what) {
    return failure("study {}, table '{}': {}", comparison.name, table.caption, what);
  };
  if (table.rows.empty() || table.columns.empty()) return wrong("is empty");
  for (const ComparisonRow& row : table.rows) {
    if (row.keys.size() != table.keys.size() || row.values.size() != table.columns.size())
      return wrong("has a row that does not fit its head");
    for (const auto& value : row.values)
      if (value && !(std::isfinite(value->mean) && std::isfinite(value->low) && std::isfinite(value->high)))
        return wrong("has a value that is not finite");
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (std::ranges::none_of(table.rows, [&](const ComparisonRow& row) { return row.values[i].has_value(); }))
      return wrong(fmt::format("column '{}' has no value", table.columns[i].name));
  return {};
}

}  // namespace

std::string_view name_of(Origin origin) {
  switch (origin) {
  case Origin::paper:
    return "the paper";
  case Origin::measured:
    return "measured here";
  case Origin::simulated:
    return "simulated";
  case Origin::predicted:
    return "predicted";
  }
  return "";
}

Status check(const ComparisonPage& page) {
  for (const Comparison& comparison : page.comparisons) {
    if (comparison.findings.empty() || comparison.tables.empty())
      return failure("study {}: says nothing", comparison.name);
    for (const ComparisonTable& table : comparison.tables)
      if (Status whole = check(comparison, table); !whole) return whole;
  }
  return {};
}

std::string to_page(const ComparisonPage& page) {
  std::string html = "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
                     "<meta charset=\"utf-8\"/>\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                     "<title>Experiments of the papers on this machine</title>\n<style>\n";
  html += plot_style();
  html += comparison_style;
  html += "</style>\n</head>\n<body>\n<h1>Experiments of the papers on this machine</h1>\n";
  html +=
      fmt::format("<p>Made by <code>{}</code> in {:.0f} s on {}, {}.{}</p>\n", escaped_markup(page.command),
                  page.seconds, escaped_markup(page.machine), escaped_markup(page.kernel),
                  page.quick ? " <b>A quick look: its figures mean nothing.</b>" : "");
  html +=
      "<p>Below each column's name stands where its figures come from. <i>Simulated</i> and <i>predicted</i> "
      "are of "
      "machines that are not at hand; their service times were measured here, and nothing in them comes from "
      "the paper.</p>\n";
  for (const Comparison& comparison : page.comparisons)
    html += section_of(comparison);
  return html + "</body>\n</html>\n";
}

nlohmann::ordered_json to_json(const ComparisonPage& page) {
  using Json = nlohmann::ordered_json;
  Json studies = Json::array();
  for (const Comparison& comparison : page.comparisons) {
    Json tables = Json::array();
    for (const ComparisonTable& table : comparison.tables) {
      Json columns = Json::array();
      for (const ComparisonColumn& column : table.columns)
        columns.push_back({{"name", column.name}, {"origin", name_of(column.origin)}, {"unit", column.unit}});
      Json rows = Json::array();
      for (const ComparisonRow& row : table.rows) {
        Json values = Json::array();
        for (const auto& value : row.values) {
          if (!value)
            values.push_back(nullptr);
          else if (!value->known)
            values.push_back({{"mean", value->mean}, {"low", nullptr}, {"high", nullptr}});
          else
            values.push_back({{"mean", value->mean}, {"low", value->low}, {"high", value->high}});
        }
        rows.push_back({{"keys", row.keys}, {"values", std::move(values)}});
      }
      tables.push_back({{"caption", table.caption},
                        {"keys", table.keys},
                        {"columns", std::move(columns)},
                        {"rows", std::move(rows)}});
    }
    studies.push_back({{"study", comparison.name},
                       {"title", comparison.title},
                       {"paper", comparison.paper},
                       {"about", comparison.about},
                       {"findings", comparison.findings},
                       {"tables", std::move(tables)}});
  }
  return {{"schema", "millrace.study.papers"},
          {"version", 1},
          {"command", page.command},
          {"machine", page.machine},
          {"kernel", page.kernel},
          {"quick", page.quick},
          {"seconds", page.seconds},
          {"studies", std::move(studies)}};
}

}  // namespace millrace::report
