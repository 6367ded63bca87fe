// Comparison: an experiment of a paper as it came out here, beside what the paper says of its own machine. A
// value; the page and the JSON are made of it alone.
#pragma once

#include "millrace/base/result.h"
#include "millrace/report/plot/plots.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::report {

// Where the figures of a column come from. No column mixes them.
enum class Origin {
  paper,      // stated by the paper, of its machine
  measured,   // here
  simulated,  // of a machine that is not here, from service times measured here
  predicted,  // by a formula, from the same
};
[[nodiscard]] std::string_view name_of(Origin origin);

struct ComparisonColumn {
  std::string name;
  Origin origin = Origin::measured;
  std::string unit;  // "s", "%", "" for a plain number
};

struct ComparisonRow {
  std::vector<std::string> keys;
  std::vector<std::optional<PlotValue>> values;  // one for each column; none: not done, or not to be had here
};

struct ComparisonTable {
  std::string caption;
  std::vector<std::string> keys;  // what the first cells of a row are
  std::vector<ComparisonColumn> columns;
  std::vector<ComparisonRow> rows;
};

struct Comparison {
  std::string name;  // as `millrace study` takes it
  std::string title;
  std::string paper;  // what the paper says of it
  std::string about;  // how it was done here
  std::vector<std::variant<LinePlot, BarPlot>> plots;
  std::vector<ComparisonTable> tables;
  std::vector<std::string> findings;  // what agrees, and what does not and why; each a sentence or two
};

struct ComparisonPage {
  std::string command;  // that makes this page
  std::string machine;  // in words
  std::string kernel;
  bool quick = false;
  double seconds = 0;
  std::vector<Comparison> comparisons;
};

// Failure that names the comparison and table where a row has not as many cells as the head, a value is not
// finite, a column has no value at all, or no finding is there: such a page is not shown.
[[nodiscard]] Status check(const ComparisonPage& page);

[[nodiscard]] std::string to_page(const ComparisonPage& page);
[[nodiscard]] nlohmann::ordered_json to_json(const ComparisonPage& page);

}  // namespace millrace::report
