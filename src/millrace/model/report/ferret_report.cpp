#include "millrace/model/report/ferret_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace millrace::model {
namespace {

double relative_error(double predicted, double measured) { return predicted / measured - 1; }

std::string cell(std::optional<double> seconds, double measured) {
  if (!seconds) return fmt::format("{:>9} {:>7}", "-", "");
  return fmt::format("{:>9.2f} {:>+6.1f}%", *seconds, 100 * relative_error(*seconds, measured));
}

ErrorSummary summary(std::vector<double> errors) {
  for (double& error : errors)
    error = std::abs(error);
  std::ranges::sort(errors);
  const std::size_t n = errors.size();
  return {.median = (errors[(n - 1) / 2] + errors[n / 2]) / 2, .worst = errors.back()};
}

std::string summary_text(const char* name, const std::vector<double>& errors) {
  const ErrorSummary s = summary(errors);
  return fmt::format("{:<38} median {:>4.1f} %, worst {:>4.1f} %, of {} entries\n", name, 100 * s.median,
                     100 * s.worst, errors.size());
}

}  // namespace

ErrorSummary simulation_error(const std::vector<FerretPrediction>& predictions, bool with_calibration) {
  std::vector<double> errors;
  for (const FerretPrediction& p : predictions) {
    if (with_calibration || !p.entry.calibrates)
      errors.push_back(relative_error(p.simulation, p.entry.seconds));
  }
  return summary(std::move(errors));
}

std::string to_text(const std::vector<FerretPrediction>& predictions,
                    const std::vector<SizingResult>& sizing) {
  std::string text =
      fmt::format("ferret on the HP Superdome: {} items, {} s sequential. Seconds, and error against "
                  "the measured ones.\n\n{:<24} {:>4} {:>9}  {:>17} {:>17} {:>17} {:>17}\n",
                  ferret_items, ferret_sequential_seconds, "", "c", "measured", "paper's model", "formulas",
                  "simulation", "ideal scheduler");
  std::vector<double> paper;
  std::vector<double> formulas;
  std::vector<double> simulation;
  std::vector<double> uncalibrated;
  for (const FerretPrediction& p : predictions) {
    const double measured = p.entry.seconds;
    text += fmt::format("{:<24} {:>4} {:>8.2f}{}  {} {} {} {}\n", to_string(p.entry.variant), p.entry.threads,
                        measured, p.entry.calibrates ? "*" : " ", cell(p.paper_model, measured),
                        cell(p.formulas, measured), cell(p.simulation, measured),
                        cell(p.simulation_balanced, measured));
    if (p.paper_model) paper.push_back(relative_error(*p.paper_model, measured));
    formulas.push_back(relative_error(p.formulas, measured));
    simulation.push_back(relative_error(p.simulation, measured));
    if (!p.entry.calibrates) uncalibrated.push_back(simulation.back());
  }
  text += "\nc: threads in each parallel stage, or in all when stealing. *: a constant of the model comes "
          "from this "
          "entry.\n\n";
  text += summary_text("paper's model", paper);
  text += summary_text("formulas", formulas);
  text += summary_text("simulation", simulation);
  text += summary_text("simulation, without the * entries", uncalibrated);
  text +=
      fmt::format("\n{:<52} {:>6} {:>6}\n", "Sizing (section 3.4), by the paper's formulas", "paper", "here");
  for (const SizingResult& result : sizing)
    text += fmt::format("{:<52} {:>6} {:>6}\n", result.what, result.paper, result.model);
  return text;
}

}  // namespace millrace::model
