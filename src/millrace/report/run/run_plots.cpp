#include "millrace/report/run/run_plots.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/report/plot/plots.h"
#include "millrace/report/plot/svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

constexpr double drawing_width = 720;
constexpr double drawing_left = 56;
constexpr double drawing_right = 708;

std::string coloured(std::size_t which) { return fmt::format("<g class=\"s{}\">", which % most_colours); }

std::vector<std::string> names_in(std::string_view stages) {
  std::vector<std::string> names;
  for (const auto each : stages | std::views::split('+'))
    names.emplace_back(std::string_view(each));
  return names;
}

// By the names of stages, if the record lacks the graph nodes.
std::vector<std::vector<std::size_t>> nodes_by_name(const RunDocument& run) {
  std::vector<std::vector<std::size_t>> result(run.stages.size());
  std::vector<bool> found(run.nodes.size(), false);
  for (std::size_t stage = 0; stage < run.stages.size(); ++stage) {
    if (run.stages[stage].plane != 0) continue;
    for (const std::string& name : names_in(run.stages[stage].stages)) {
      for (std::size_t node = 0; node < run.nodes.size(); ++node) {
        if (found[node] || run.nodes[node].name != name) continue;
        found[node] = true;
        result[stage].push_back(node);
        break;
      }
    }
  }
  return result;
}

// The cost of a graph node on the first plane: its stages.
struct WorkOfNode {
  std::optional<std::size_t> stage;  // the last of them
  std::optional<double> ms;          // of all; empty if one of them was not timed
  double pixels_computed = 0;
  double pixels_required = 0;
  std::size_t filters = 1;  // in the same kernel
};

std::vector<WorkOfNode> work_of_nodes(const RunDocument& run) {
  std::vector<WorkOfNode> work(run.nodes.size());
  const auto by_name = nodes_by_name(run);
  for (std::size_t s = 0; s < run.stages.size(); ++s) {
    const StageOfRun& stage = run.stages[s];
    if (stage.plane != 0) continue;
    std::vector<std::size_t> nodes = stage.nodes.value_or(by_name[s]);
    std::erase_if(nodes, [&](std::size_t node) { return node >= work.size(); });
    for (const std::size_t node : nodes) {
      WorkOfNode& of = work[node];
      if (!of.stage) of.ms = 0;
      of.ms =
          of.ms && stage.cpu_ms_per_frame ? std::optional(*of.ms + *stage.cpu_ms_per_frame) : std::nullopt;
      of.stage = s;
      of.pixels_computed += stage.pixels_computed;
      of.pixels_required += stage.pixels_required;
      of.filters = std::max(of.filters, nodes.size());
    }
  }
  return work;
}

std::string words_of(const WorkOfNode& work) {
  if (!work.stage) return "no time of its own";
  const std::string time = work.ms ? fmt::format("{:.3g} ms", *work.ms) : "not timed";
  if (work.filters > 1) return fmt::format("{} for {} filters", time, work.filters);
  const double again = work.pixels_required > 0 ? work.pixels_computed / work.pixels_required : 1;
  return fmt::format("{}, {:.2f}x", time, again);
}

// The number of nodes on the longest path from the input.
std::vector<std::size_t> depths_of(const RunDocument& run) {
  std::vector<std::size_t> depths(run.nodes.size(), 0);
  for (std::size_t node = 0; node < run.nodes.size(); ++node)
    for (const int input : run.nodes[node].inputs)
      if (input >= 0) depths[node] = std::max(depths[node], depths[static_cast<std::size_t>(input)] + 1);
  return depths;
}

std::size_t verdict_colour(const EventOfRun& trial) {
  if (trial.high < 1) return 2;  // better
  if (trial.low > 1) return 3;   // worse
  return 5;                      // undecided
}

}  // namespace

std::string candidate_text(std::string_view name) {
  std::map<std::string, std::string, std::less<>> words;
  for (const auto each : name | std::views::split(',')) {
    const std::string_view word(each);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::string(name);
    words.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  const auto take = [&](std::string_view key) {
    const auto found = words.find(key);
    if (found == words.end()) return std::string();
    std::string value = found->second;
    words.erase(found);
    return value;
  };
  std::string text = take("structure");
  if (text.empty()) return std::string(name);
  const std::string tile_width = take("tile_width");
  const std::string tile_height = take("tile_height");
  if (text != "sequential" && (!tile_width.empty() || !tile_height.empty()))
    text += fmt::format(" {}x{}", tile_width.empty() ? "all" : tile_width,
                        tile_height.empty() ? "all" : tile_height);
  if (const std::string fusion = take("fusion"); !fusion.empty()) text += ", fusion " + fusion;
  if (const std::string threads = take("threads"); !threads.empty())
    text += fmt::format(", {} thread{}", threads, threads == "1" ? "" : "s");
  if (const std::string flight = take("frames_in_flight"); !flight.empty() && flight != "1")
    text += fmt::format(", {} frames in flight", flight);
  if (const std::string affinity = take("affinity"); !affinity.empty() && affinity != "free")
    text += ", " + affinity;
  const std::string isa = take("isa");
  for (const auto& [key, value] : words)
    text += fmt::format(", {} {}", key, value);
  return isa.empty() ? text : text + ", " + isa;
}

std::string time_shares(const RunDocument& run) {
  const double known = run.compute_seconds + run.input_wait_seconds + run.output_wait_seconds;
  const double all = std::max(run.wall_seconds, known);
  if (!(all > 0)) return "";
  Svg svg(drawing_width, 78, "what the run spent its time on");
  const Axis x(0, all, 0, drawing_width);
  double from = 0;
  double legend = 0;
  std::size_t colour = 0;
  for (const auto& [name, spent] : {std::pair<const char*, double>{"computing", run.compute_seconds},
                                    {"waiting for input", run.input_wait_seconds},
                                    {"waiting for output", run.output_wait_seconds},
                                    {"anything else", std::max(0.0, all - known)}}) {
    const std::string label = fmt::format("{} {:.0f} %", name, 100 * spent / all);
    svg.element(coloured(colour < 3 ? colour : 5));
    svg.rectangle(x(from), 4, std::max(0.0, x(from + spent) - x(from) - 1), 34, "class=\"fill\"",
                  fmt::format("{}: {:.3f} s", name, spent));
    svg.rectangle(legend, 56, 14, 14, "class=\"fill\"");
    svg.element("</g>\n");
    svg.text(legend + 20, 68, Anchor::start, label);
    legend += 44 + 7.2 * static_cast<double>(label.size());
    from += spent;
    ++colour;
  }
  return svg.str();
}

std::string pipeline_graph(const RunDocument& run) {
  if (run.nodes.empty()) return "";
  constexpr double box_width = 132;
  constexpr double box_height = 52;
  constexpr double step_x = 176;
  constexpr double step_y = 72;
  const auto depths = depths_of(run);
  const std::vector<WorkOfNode> work = work_of_nodes(run);
  std::map<std::size_t, std::size_t> used;  // by depth
  std::vector<std::pair<double, double>> places;
  std::size_t deepest = 0;
  std::size_t most = 1;
  for (const std::size_t depth : depths) {
    places.emplace_back(76 + step_x * static_cast<double>(depth),
                        10 + step_y * static_cast<double>(used[depth]++));
    deepest = std::max(deepest, depth);
    most = std::max(most, used[depth]);
  }
  const double whole_width = 76 + step_x * static_cast<double>(deepest) + box_width + 96;
  const bool has_second = std::ranges::any_of(run.nodes, [](const NodeOfRun& node) {
    return std::ranges::find(node.inputs, -2) != node.inputs.end();
  });
  const double height = step_y * static_cast<double>(std::max<std::size_t>(most, has_second ? 2 : 1)) + 4;
  const double middle = 10 + box_height / 2;
  Svg svg(std::max(whole_width, drawing_width), height, "the pipeline and what its stages take",
          "class=\"graph\"");
  svg.text(0, middle + 5, Anchor::start, "input");
  if (has_second) svg.text(0, middle + step_y + 5, Anchor::start, "second");
  const auto arrow = [&](double x0, double y0, double x1, double y1) {
    svg.element(fmt::format("<path class=\"arrow\" d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} "
                            "{:.0f}m-6 -4l6 4l-6 4\"/>\n",
                            x0, y0, x0 + 22, y0, x1 - 22, y1, x1, y1));
  };
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    const auto [x, y] = places[node];
    for (const int input : run.nodes[node].inputs) {
      if (input < 0) {
        const bool second = input == -2;
        arrow(second ? 54 : 40, second ? middle + step_y : middle, x, y + box_height / 2);
        continue;
      }
      const auto [from_x, from_y] = places[static_cast<std::size_t>(input)];
      arrow(from_x + box_width, from_y + box_height / 2, x, y + box_height / 2);
    }
    svg.element(coloured(work[node].stage.value_or(5)));
    svg.rectangle(x, y, box_width, box_height, "class=\"box\" rx=\"6\"");
    svg.element("</g>\n");
    svg.text(x + box_width / 2, y + 21, Anchor::middle, run.nodes[node].name, "class=\"title\"");
    svg.text(x + box_width / 2, y + 42, Anchor::middle, words_of(work[node]), "class=\"label\"");
  }
  const auto [last_x, last_y] = places.back();
  arrow(last_x + box_width, last_y + box_height / 2, whole_width - 68, last_y + box_height / 2);
  svg.text(whole_width - 62, last_y + box_height / 2 + 5, Anchor::start, "output");
  return svg.str();
}

std::string trials_plot(const RunDocument& run) {
  std::vector<const EventOfRun*> trials;
  for (const EventOfRun& event : run.events)
    if (event.kind == "trial" && event.compared && event.low > 0) trials.push_back(&event);
  if (trials.size() > most_trials_drawn)
    trials.erase(trials.begin(), trials.end() - static_cast<std::ptrdiff_t>(most_trials_drawn));
  if (trials.empty()) return "";
  double low = 0.8;
  double high = 1.25;
  for (const EventOfRun* trial : trials) {
    low = std::min(low, trial->ratio * 0.95);
    high = std::max(high, trial->ratio * 1.05);
  }
  low = std::clamp(low, 0.2, 1.0);
  high = std::clamp(high, 1.0, 5.0);
  constexpr double row = 24;
  constexpr double plot_from = 400;
  const double bottom = 30 + row * static_cast<double>(trials.size());
  Svg svg(drawing_width, bottom + 32, "the trials, by what their candidate took against what ran");
  const Axis x(low, high, plot_from, drawing_right, Axis::Scale::logarithmic);
  svg.text(plot_from, 14, Anchor::start, "less time than what ran", "class=\"label\"");
  svg.text(drawing_right, 14, Anchor::end, "more", "class=\"label\"");
  std::vector<double> ticks;
  for (const double tick :
       {0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0})
    if (tick >= low && tick <= high) ticks.push_back(tick);
  double labelled = -100;
  for (const double tick : ticks) {
    svg.line(x(tick), 22, x(tick), bottom, tick == 1 ? "class=\"axis\"" : "class=\"grid\"");
    if (x(tick) - labelled < 36) continue;
    labelled = x(tick);
    svg.text(x(tick), bottom + 18, Anchor::middle, fmt::format("{:g}x", tick));
  }
  double y = 30 + row / 2;
  for (const EventOfRun* trial : trials) {
    const std::string tip =
        fmt::format("{:.2f} s: {} against {}: {:.3f}x [{:.3f}, {:.3f}] in {}; it {}, and {}", trial->time,
                    candidate_text(trial->candidate), candidate_text(trial->against), trial->ratio,
                    trial->low, trial->high, counted(trial->frames, "frame"), trial->chosen, trial->verdict);
    svg.text(0, y + 5, Anchor::start, candidate_text(trial->candidate), "class=\"small\"");
    svg.element(coloured(verdict_colour(*trial)));
    const double from = x(std::clamp(trial->low, low, high));
    const double to = x(std::clamp(trial->high, low, high));
    svg.rectangle(from, y - 1.5, std::max(to - from, 1.0), 3, "class=\"fill\"");
    svg.circle(x(std::clamp(trial->ratio, low, high)), y, 5, "class=\"fill\"");
    svg.element("</g>\n");
    svg.rectangle(0, y - row / 2, drawing_width, row, "class=\"hover\"", tip);
    y += row;
  }
  return svg.str();
}

std::vector<Period> periods_of(const RunDocument& run) {
  std::vector<Period> periods;
  for (const EventOfRun& event : run.events) {
    if (event.kind != "started" && event.kind != "incumbent") continue;
    if (!periods.empty()) periods.back().to = event.time;
    periods.push_back(
        {.from = periods.empty() ? 0 : event.time, .to = event.time, .candidate = event.candidate});
  }
  if (!periods.empty()) periods.back().to = std::max(periods.back().from, run.wall_seconds);
  return periods;
}

std::string timeline_plot(const RunDocument& run) {
  if (run.turns.empty()) return "";
  constexpr double top = 34;
  constexpr double bottom = 260;
  std::vector<double> sorted;
  for (const TurnsOfRun& turn : run.turns)
    sorted.push_back(turn.computing);
  std::ranges::sort(sorted);
  // A single slow batch, often the first, must not flatten the others.
  const double most = std::max(sorted[sorted.size() * 98 / 100] * 1.25, 1e-6);
  const std::vector<double> ticks = round_ticks(0, most);
  const double end = std::max(run.turns.back().at, run.wall_seconds);
  const Axis x(0, end > 0 ? end : 1, drawing_left, drawing_right);
  const Axis y(0, ticks.back(), bottom, top);
  Svg svg(drawing_width, bottom + 40, "what ran when, and how long frames took");
  svg.text(drawing_left, 18, Anchor::start, "milliseconds a frame, computing", "class=\"label\"");
  const auto periods = periods_of(run);
  for (std::size_t i = 0; i < periods.size(); ++i) {
    svg.element(coloured(i));
    svg.rectangle(x(periods[i].from), top, std::max(x(periods[i].to) - x(periods[i].from), 0.5), bottom - top,
                  "class=\"band\"",
                  fmt::format("{:.2f} s to {:.2f} s: {}", periods[i].from, periods[i].to,
                              candidate_text(periods[i].candidate)));
    svg.element("</g>\n");
  }
  for (const double tick : ticks) {
    svg.line(drawing_left, y(tick), drawing_right, y(tick), tick == 0 ? "class=\"axis\"" : "class=\"grid\"");
    svg.text(drawing_left - 8, y(tick) + 5, Anchor::end, fmt::format("{:.4g}", tick));
  }
  for (const double tick : round_ticks(0, end > 0 ? end : 1)) {
    if (tick > end) continue;
    svg.line(x(tick), bottom, x(tick), bottom + 5, "class=\"axis\"");
    svg.text(x(tick), bottom + 22, Anchor::middle, fmt::format("{:g} s", tick));
  }
  std::vector<std::pair<double, double>> line;
  for (const TurnsOfRun& turn : run.turns)
    line.emplace_back(x(turn.at), y(std::min(turn.computing, ticks.back())));
  svg.element("<g class=\"ink\">");
  svg.polyline(line, "class=\"thin\"");
  svg.element("</g>\n");
  double labelled = 0;
  for (const EventOfRun& event : run.events) {
    if (event.kind != "drift" && event.kind != "context") continue;
    svg.line(x(event.time), top, x(event.time), bottom, "class=\"mark\"");
    if (x(event.time) < labelled) continue;
    labelled = x(event.time) + 48;
    svg.text(x(event.time) + 3, top + 12, Anchor::start, event.kind == "drift" ? "drift" : "change",
             "class=\"small\"");
  }
  return svg.str();
}

}  // namespace millrace::report
