#include "millrace/report/comparison/x264_study.h"

#include "millrace/report/study/mean_interval.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using Cell = std::optional<PlotValue>;

constexpr std::array encoder_clips{EncoderClip::sd, EncoderClip::hd};
constexpr std::array thread_counts_of_x264{4, 8};
constexpr int one_lookahead = 1;
constexpr int more_lookahead = 4;

// The report's figures: frames per second before and after the change.
struct Stated {
  EncoderClip clip;
  std::string_view scheduler;
  double before;
  double after;
};
constexpr std::array stated{
    Stated{EncoderClip::sd, "CFS", 325.49, 251.68}, Stated{EncoderClip::sd, "BFS", 334.94, 344.47},
    Stated{EncoderClip::hd, "CFS", 39.05, 40.56}, Stated{EncoderClip::hd, "BFS", 40.15, 44.89}};

constexpr std::string_view too_few_rounds = "too few rounds for an interval";

Cell cell_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const MeanInterval mean = mean_interval(values);
  return PlotValue{mean.mean, mean.low, mean.high, mean.known};
}

const EncoderRuns* runs_of(const EncoderObservations& observed, const EncoderSetting& setting) {
  const auto found = observed.runs.find(setting);
  return found == observed.runs.end() || found->second.fps.empty() ? nullptr : &found->second;
}

// Speed gain from more lookahead threads, by round, in per cent.
Cell change_of(const EncoderObservations& observed, EncoderSetting setting) {
  setting.lookahead = more_lookahead;
  const EncoderRuns* after = runs_of(observed, setting);
  setting.lookahead = one_lookahead;
  const EncoderRuns* before = runs_of(observed, setting);
  if (after == nullptr || before == nullptr || after->fps.size() != before->fps.size()) return std::nullopt;
  const MeanInterval ratio = ratio_interval(after->fps, before->fps);
  return PlotValue{100 * (ratio.mean - 1), 100 * (ratio.low - 1), 100 * (ratio.high - 1), ratio.known};
}

// Drops columns without values, which belong to unavailable classes.
void leave_out_empty_columns(ComparisonTable& table) {
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    if (std::ranges::any_of(table.rows, [&](const ComparisonRow& row) { return row.values[i].has_value(); }))
      continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (ComparisonRow& row : table.rows)
      row.values.erase(row.values.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

ComparisonTable table_of(const EncoderObservations& observed, std::string caption, const std::string& unit,
                         std::vector<double> EncoderRuns::* values) {
  ComparisonTable table{.caption = std::move(caption), .keys = {"clip", "threads", "look-ahead threads"}};
  for (const EncoderClass scheduling_class : all_encoder_classes())
    table.columns.push_back({std::string(name_of(scheduling_class)), Origin::measured, unit});
  for (const EncoderClip clip : encoder_clips)
    for (const int threads : thread_counts_of_x264)
      for (const int lookahead : {one_lookahead, more_lookahead}) {
        ComparisonRow row{
            .keys = {std::string(name_of(clip)), std::to_string(threads), std::to_string(lookahead)}};
        for (const EncoderClass scheduling_class : all_encoder_classes()) {
          const EncoderRuns* runs = runs_of(observed, {clip, threads, lookahead, scheduling_class});
          row.values.push_back(runs == nullptr ? std::nullopt : cell_of(runs->*values));
        }
        if (std::ranges::any_of(row.values, [](const Cell& cell) { return cell.has_value(); }))
          table.rows.push_back(std::move(row));
      }
  leave_out_empty_columns(table);
  return table;
}

Cell stated_change(EncoderClip clip, std::string_view scheduler) {
  const auto* const found = std::ranges::find_if(
      stated, [&](const Stated& one) { return one.clip == clip && one.scheduler == scheduler; });
  const double change = 100 * (found->after / found->before - 1);
  return PlotValue{change, change, change};
}

ComparisonTable changes_of(const EncoderObservations& observed) {
  ComparisonTable table{.caption = "What four look-ahead threads instead of one change, in frames a second",
                        .keys = {"clip", "threads"},
                        .columns = {{"CFS", Origin::paper, "%"}, {"BFS", Origin::paper, "%"}}};
  for (const EncoderClass scheduling_class : all_encoder_classes())
    table.columns.push_back({std::string(name_of(scheduling_class)), Origin::measured, "%"});
  for (const EncoderClip clip : encoder_clips)
    for (const int threads : thread_counts_of_x264) {
      ComparisonRow row{.keys = {std::string(name_of(clip)), std::to_string(threads)},
                        .values = {stated_change(clip, "CFS"), stated_change(clip, "BFS")}};
      for (const EncoderClass scheduling_class : all_encoder_classes())
        row.values.push_back(change_of(observed, {clip, threads, one_lookahead, scheduling_class}));
      if (std::any_of(row.values.begin() + 2, row.values.end(),
                      [](const Cell& cell) { return cell.has_value(); }))
        table.rows.push_back(std::move(row));
    }
  leave_out_empty_columns(table);
  return table;
}

BarPlot plot_of(const ComparisonTable& changes) {
  BarPlot plot{
      .title = "what four look-ahead threads change", .y_label = "% of frames a second", .reference = 0};
  for (const ComparisonRow& row : changes.rows)
    plot.groups.push_back(row.keys[0] + ", " + row.keys[1]);
  // If there are not enough colours, classes with long slices appear only in the table.
  const bool crowded = changes.columns.size() > most_colours;
  for (std::size_t i = 0; i < changes.columns.size() && plot.series.size() < most_colours; ++i) {
    if (crowded && changes.columns[i].name.contains("slice")) continue;
    BarSeries series{fmt::format("{}, {}", changes.columns[i].name, name_of(changes.columns[i].origin)), {}};
    for (const ComparisonRow& row : changes.rows)
      series.bars.push_back(row.values[i]);
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// Compares a class with `other`, by round. Empty if one was not measured.
std::string against_other(const EncoderObservations& observed, EncoderSetting setting) {
  const EncoderRuns* here = runs_of(observed, setting);
  const std::string_view name = name_of(setting.scheduling_class);
  setting.scheduling_class = EncoderClass::other;
  const EncoderRuns* other = runs_of(observed, setting);
  if (here == nullptr || other == nullptr || here->fps.size() != other->fps.size()) return "";
  const MeanInterval ratio = ratio_interval(here->fps, other->fps);
  const std::string interval =
      ratio.known ? fmt::format("{:.2f} to {:.2f}", ratio.low, ratio.high) : std::string(too_few_rounds);
  return fmt::format(
      "{} {:.2f} times as fast as other ({}), with {:.1f} context switches a frame instead of {:.1f}", name,
      ratio.mean, interval, mean_interval(here->switches).mean, mean_interval(other->switches).mean);
}

std::string change_text(const Cell& cell) {
  if (!cell) return "not measured";
  if (!cell->known) return fmt::format("{:+.1f} % ({})", cell->mean, too_few_rounds);
  if (cell->low == cell->high) return fmt::format("{:+.1f} %", cell->mean);
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", cell->mean, cell->low, cell->high);
}

}  // namespace

std::string_view name_of(EncoderClip clip) { return clip == EncoderClip::sd ? "SD" : "HD"; }

std::string_view name_of(EncoderClass scheduling_class) {
  switch (scheduling_class) {
  case EncoderClass::other:
    return "other";
  case EncoderClass::other_long_slice:
    return "other, slice 10 ms";
  case EncoderClass::batch:
    return "batch";
  case EncoderClass::batch_long_slice:
    return "batch, slice 10 ms";
  case EncoderClass::rr:
    return "rr";
  case EncoderClass::fifo:
    return "fifo, in place of BFS";
  }
  return "";
}

const std::vector<EncoderClass>& all_encoder_classes() {
  using enum EncoderClass;
  static const std::vector<EncoderClass> classes{other, other_long_slice, batch, batch_long_slice, rr, fifo};
  return classes;
}

std::vector<EncoderSetting> encoder_settings(bool quick) {
  std::vector<EncoderSetting> settings;
  for (const EncoderClip clip : encoder_clips)
    for (const int threads : thread_counts_of_x264)
      for (const int lookahead : {one_lookahead, more_lookahead})
        for (const EncoderClass scheduling_class : all_encoder_classes()) {
          const bool shown =
              clip == EncoderClip::sd && threads == 4 &&
              (scheduling_class == EncoderClass::other || scheduling_class == EncoderClass::batch);
          if (!quick || shown) settings.push_back({clip, threads, lookahead, scheduling_class});
        }
  return settings;
}

Result<Comparison> compare(const EncoderObservations& observed) {
  Comparison result{.name = std::string(x264_study),
                    .title = std::string(x264_title),
                    .paper = "With a look-ahead on four threads instead of one CFS loses 23 % of the SD "
                             "frames a second and gains 4 % of the HD "
                             "ones; BFS gains 3 and 12 %. SCHED_RR does as well as BFS, but requires root. "
                             "Quad-core machines, 4 or 8 threads.",
                    .about = fmt::format("x264 --preset superfast --tune zerolatency --threads X "
                                         "--lookahead-threads L CLIP -o /dev/null, bound to {} "
                                         "CPUs (the report's worst case: taskset to four). Clips: {}. Frames "
                                         "a second are x264's own; switches and "
                                         "waits are of all its threads. No kernel of today has BFS; fifo "
                                         "stands in its place, which lets a thread run "
                                         "until it waits, too.",
                                         observed.cpus, observed.clips)};
  ComparisonTable changes = changes_of(observed);
  if (changes.rows.empty()) return failure("study x264: nothing was measured");
  const ComparisonRow& first = changes.rows.front();
  const auto at = [&](EncoderClass which) -> Cell {
    for (std::size_t i = 0; i < changes.columns.size(); ++i)
      if (changes.columns[i].name == name_of(which)) return first.values[i];
    return std::nullopt;
  };
  const Cell other = at(EncoderClass::other);
  const bool known = other && other->known;
  const bool loses = known && other->high < 0;
  result.findings.push_back(
      fmt::format("{}, {} threads: four look-ahead threads change the frames a second by {} under other, {} "
                  "under batch; the report has {} "
                  "under CFS. The loss is {}.",
                  first.keys[0], first.keys[1], change_text(other), change_text(at(EncoderClass::batch)),
                  change_text(stated_change(EncoderClip::sd, "CFS")),
                  loses   ? "here too"
                  : known ? "not seen here"
                          : "not decided by so few rounds"));
  for (const EncoderClip clip : encoder_clips) {
    std::string classes;
    for (const EncoderClass scheduling_class : {EncoderClass::batch, EncoderClass::rr, EncoderClass::fifo}) {
      const std::string one =
          against_other(observed, {clip, thread_counts_of_x264[0], one_lookahead, scheduling_class});
      if (!one.empty()) classes += (classes.empty() ? "" : "; ") + one;
    }
    if (!classes.empty())
      result.findings.push_back(fmt::format("{}, {} threads, one for the look-ahead: {}.", name_of(clip),
                                            thread_counts_of_x264[0], classes));
  }
  if (observed.cpus < 4)
    result.findings.push_back(fmt::format(
        "With {} CPUs all have work in any case, so that a look-ahead on several threads has little "
        "to gain; the report's machines had four and more.",
        observed.cpus));
  for (const auto& [scheduling_class, why] : observed.missing)
    result.findings.push_back(fmt::format("{} is not measured: {}.", name_of(scheduling_class), why));
  result.plots.emplace_back(plot_of(changes));
  result.tables.push_back(table_of(observed, "Frames a second", "", &EncoderRuns::fps));
  result.tables.push_back(std::move(changes));
  result.tables.push_back(table_of(observed, "Context switches a frame", "", &EncoderRuns::switches));
  result.tables.push_back(table_of(observed, "Time that threads wait for a CPU, of all together, a frame",
                                   "ms", &EncoderRuns::waiting_ms));
  return result;
}

}  // namespace millrace::report
