// Comparison: an experiment of a paper as reproduced here, next to the paper's own results. A value. The page
// and the JSON are made only from it.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/report/plot/plots.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::report {

// Origin of the figures of a column. A column has a single origin.
enum class Origin {
  paper,      // stated by the paper for its machine
  measured,   // here
  simulated,  // for a machine not available here, from service times measured here
  predicted,  // by a formula, from the same service times
};
[[nodiscard]] std::string_view name_of(Origin origin);

struct ComparisonColumn {
  std::string name;
  Origin origin = Origin::measured;
  std::string unit;  // "s", "%", "" for a plain number
};

struct ComparisonRow {
  std::vector<std::string> keys;
  std::vector<std::optional<PlotValue>> values;  // one per column; empty: not done, or not available here
};

struct ComparisonTable {
  std::string caption;
  std::vector<std::string> keys;  // names of the key cells of a row
  std::vector<ComparisonColumn> columns;
  std::vector<ComparisonRow> rows;
};

struct Comparison {
  std::string name;  // as in `millrace study`
  std::string title;
  std::string paper;  // the paper's statement
  std::string about;  // how it was done here
  std::vector<std::variant<LinePlot, BarPlot>> plots;
  std::vector<ComparisonTable> tables;
  std::vector<std::string>
      findings;  // agreements, and differences with their reasons; a sentence or two each
};

struct ComparisonPage {
  std::string command;  // that makes this page
  std::string machine;  // in words
  std::string kernel;
  bool quick = false;
  double seconds = 0;
  std::vector<Comparison> comparisons;
};

// Fails, naming the comparison and table, if a row has too few or too many cells, a value is not finite, a
// column has no value at all, or there are no findings. Such a page must not be shown.
[[nodiscard]] Status check(const ComparisonPage& page);

[[nodiscard]] std::string to_page(const ComparisonPage& page);
[[nodiscard]] nlohmann::ordered_json to_json(const ComparisonPage& page);

}  // namespace millrace::report
