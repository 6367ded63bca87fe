#include "millrace/report/run/run_page.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/base/text/byte_count.h"
#include "millrace/base/text/escaped_markup.h"
#include "millrace/report/plot/page.h"
#include "millrace/report/plot/plots.h"
#include "millrace/report/run/run_plots.h"
#include "millrace/report/run/structure_picture.h"
#include "millrace/report/run/zoomable_plot.h"
#include "millrace/tuning/record/decision_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

constexpr std::string_view run_style = R"(
.figures { display: flex; flex-wrap: wrap; gap: 0.5rem 2.5rem; margin: 1rem 0; padding: 0; }
.figures div { min-width: 6rem; } .figures b { display: block; font-size: 1.6rem; line-height: 1.3; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1rem; }
figure { margin: 0; } figure img { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: 0.88rem; }
.drawn { max-width: 56rem; }
.verdict { font-size: 1.15rem; }
code { overflow-wrap: anywhere; }
svg .small { font-size: 11px; }
svg .box { fill: currentColor; fill-opacity: 0.12; stroke: currentColor; stroke-width: 1.5; }
svg .arrow { fill: none; stroke: var(--edge); stroke-width: 1.5; }
svg .hover { fill: transparent; } svg .hover:hover { fill: var(--ink); fill-opacity: 0.06; }
svg .band { fill: currentColor; fill-opacity: 0.16; }
svg .ink { color: var(--ink); } svg .thin { fill: none; stroke: currentColor; stroke-width: 1.2; }
svg .mark { stroke: var(--c3); stroke-width: 1.5; stroke-dasharray: 3 3; }
svg .unused { fill: var(--grid); fill-opacity: 0.5; }
svg .part { fill: currentColor; fill-opacity: 0.6; stroke: var(--ground); stroke-width: 0.7; }
svg .again { fill: var(--ink); fill-opacity: 0.55; }
.key { display: inline-block; width: 0.8em; height: 0.8em; background: currentColor; margin-right: 0.4em; }
.key.shade { background: var(--ink); opacity: 0.55; }
ol.periods { list-style: none; padding: 0; }
)";

// Level of detail of a page.
struct Detail {
  std::size_t schedules = 5;
  std::size_t stages = 8;  // of the last schedule; half as many of the others
  std::size_t boxes = 400;
  std::size_t bars = 1500;
  std::size_t events = 200;
  bool plots = true;  // and pictures
};
constexpr Detail details[] = {
    {},
    {.schedules = 4, .stages = 6, .boxes = 150, .bars = 600, .events = 100},
    {.schedules = 2, .stages = 4, .boxes = 60, .bars = 200, .events = 40},
    {.schedules = 0, .stages = 0, .boxes = 0, .bars = 0, .events = 10},
    {.schedules = 0, .stages = 0, .boxes = 0, .bars = 0, .events = 0, .plots = false}};
constexpr std::size_t most_bytes = 480'000;

double share(double part, const RunDocument& run) {
  return run.wall_seconds > 0 ? part / run.wall_seconds : 0;
}

// Speed-up over the initial schedule. Empty if it was never replaced.
std::optional<double> gain_of(const RunDocument& run) {
  std::optional<double> gain;
  for (const EventOfRun& event : run.events)
    if (event.kind == "incumbent" && event.compared && event.ratio > 0) gain = gain.value_or(1) / event.ratio;
  return gain;
}

std::string search_sentence(const RunDocument& run) {
  if (run.schedule.empty()) return "";
  if (!run.searched) return fmt::format("The schedule was given: {}.", run.schedule);
  const std::string from = run.from_profile ? ", which an earlier run had found" : "";
  const auto gain = gain_of(run);
  if (run.trials == 0) return fmt::format("It ran {}{} and tried nothing else.", run.schedule, from);
  if (!gain)
    return fmt::format("After {} it ran what it had begun with{}: {}.", counted(run.trials, "trial"), from,
                       run.schedule);
  return fmt::format("After {} it ran {}, about {:.2f} times as fast as what it began with.",
                     counted(run.trials, "trial"), run.schedule, *gain);
}

// Records of earlier versions lack the bottleneck. It follows from the times.
std::string bound_of(const RunDocument& run) {
  if (!run.bound_by.empty()) return run.bound_by;
  for (const auto& [name, seconds] : {std::pair{"output", run.output_wait_seconds},
                                      {"input", run.input_wait_seconds},
                                      {"filters", run.compute_seconds}})
    if (share(seconds, run) > 0.5) return name;
  return "none";
}

std::string bound_sentence(const RunDocument& run) {
  const std::string shares = fmt::format(
      "{:.0f} % of the time it waited for its input, {:.0f} % it computed, {:.0f} % it waited for its output",
      100 * share(run.input_wait_seconds, run), 100 * share(run.compute_seconds, run),
      100 * share(run.output_wait_seconds, run));
  const std::string bound = bound_of(run);
  if (bound == "output")
    return "Encoding and writing bound it, and faster filters would have gained little: " + shares + ".";
  if (bound == "input")
    return "Reading and decoding bound it, and faster filters would have gained little: " + shares + ".";
  if (bound == "filters") return "The filters bound it: " + shares + ".";
  return "Nothing took most of its time: " + shares + ".";
}

std::string figure_of(std::string_view value, std::string_view name) {
  return fmt::format("<div><b>{}</b>{}</div>\n", escaped_markup(value), escaped_markup(name));
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.4g} s", seconds);
}

double computing_ms(const RunDocument& run) {
  return 1e3 * run.compute_seconds / static_cast<double>(std::max<std::int64_t>(1, run.frames));
}

std::string key_figures(const RunDocument& run) {
  std::string text = "<div class=\"figures\">\n";
  text += figure_of(fmt::format("{:.4g}", run.fps), "frames a second");
  text += figure_of(fmt::format("{}", run.frames), "frames");
  text += figure_of(seconds_text(run.wall_seconds), "from first to last");
  text += figure_of(fmt::format("{:.3g} ms", computing_ms(run)), "computing a frame");
  if (run.first_frame_seconds > 0)
    text += figure_of(seconds_text(run.first_frame_seconds), "to the first frame");
  if (run.peak_rss_bytes > 0) text += figure_of(bytes_text(run.peak_rss_bytes), "of memory at most");
  return text + "</div>\n";
}

std::string picture(const std::optional<PictureOfRun>& of, std::string_view caption) {
  if (!of) return "";
  return fmt::format("<figure><img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"a frame {}\"/><figcaption>{}"
                     "</figcaption></figure>\n",
                     of->data, of->width, of->height, escaped_markup(caption), escaped_markup(caption));
}

std::string drawn(const std::string& svg) {
  return svg.empty() ? "" : "<div class=\"wide\"><div class=\"drawn\">\n" + svg + "</div></div>\n";
}

std::string summary_section(const RunDocument& run, const Detail& detail) {
  const std::string beside = run.second.empty() ? "" : ", " + run.second;
  std::string text = fmt::format("<p><code>{}</code><br/>{} &#8594; {}</p>\n", escaped_markup(run.pipeline),
                                 escaped_markup(run.input + beside), escaped_markup(run.output));
  text += fmt::format("<p class=\"verdict\">{}</p>\n", escaped_markup(verdict_of(run)));
  text += key_figures(run) + drawn(time_shares(run));
  const std::string pictures =
      picture(run.before, "before: " + run.input_format) + picture(run.after, "after: " + run.output_format);
  if (detail.plots && !pictures.empty()) text += "<div class=\"pictures\">\n" + pictures + "</div>\n";
  if (!run.ended_early.empty())
    text += fmt::format("<p><b>It ended early: {}</b></p>\n", escaped_markup(run.ended_early));
  if (!run.output_complete) text += "<p><b>The output could not be completed.</b></p>\n";
  if (run.output_complete && run.output_bytes > 0)
    text += fmt::format("<p>The output: {}{}{}.</p>\n", escaped_markup(run.codec),
                        run.codec.empty() ? "" : ", ", bytes_text(run.output_bytes));
  if (run.left_out > 0)
    text +=
        fmt::format("<p>{} of the input left out: damaged, or referring to others that are not there.</p>\n",
                    counted(run.left_out, "frame"));
  if (!run.not_kept.empty()) {
    text += "<p>The output has no place for:</p>\n<ul>\n";
    for (const std::string& each : run.not_kept)
      text += fmt::format("<li>{}</li>\n", escaped_markup(each));
    text += "</ul>\n";
  }
  return text;
}

// Wall time per frame, next to the time of its kernels.
std::string computing_sentence(const RunDocument& run) {
  double kernels = 0;
  for (const StageOfRun& stage : run.stages)
    kernels += stage.cpu_ms_per_frame.value_or(0);
  if (!(kernels > 0)) return "";
  const std::string cpus =
      run.cpu_wait > 0.01
          ? fmt::format(", or for a CPU ({:.0f} % of the time that they had work)", 100 * run.cpu_wait)
          : "";
  return fmt::format(
      "<p>A frame took {:.3g} ms of computing by the clock. Kernels ran for {:.3g} ms of it on "
      "each of {}, as far as they were timed; otherwise workers were woken, or waited for each "
      "other{}.</p>\n",
      computing_ms(run), kernels / run.threads, counted(run.threads, "worker"), cpus);
}

std::string pipeline_section(const RunDocument& run) {
  if (run.stages.empty()) return "";
  std::string text = "<section>\n<h2>The pipeline</h2>\n" + drawn(pipeline_graph(run));
  text += computing_sentence(run);
  text +=
      "<p>Kernel time a frame, summed over the workers, of the first plane and of what others share "
      "with it. One colour: one kernel. <i>1.03x</i>: so many pixels are computed for each that the output "
      "needs, because neighbouring parts share a border.</p>\n";
  const std::vector<std::string> names{"stages", "plane", "kernel ms a frame", "pixels computed",
                                       "of those needed"};
  std::string rows = heading_row(names);
  for (const StageOfRun& stage : run.stages) {
    rows +=
        "<tr>" + cell(stage.stages) + cell(fmt::format("{}", stage.plane), " class=\"n\"") +
        cell(stage.cpu_ms_per_frame ? fmt::format("{:.4g}", *stage.cpu_ms_per_frame) : "not timed",
             " class=\"n\"") +
        cell(fmt::format("{:.0f}", stage.pixels_computed), " class=\"n\"") +
        cell(stage.pixels_required > 0 ? fmt::format("{:.3f}x", stage.pixels_computed / stage.pixels_required)
                                       : "",
             " class=\"n\"") +
        "</tr>\n";
  }
  return text + "<details><summary>All planes, in figures</summary>\n" + table(rows) +
         "</details>\n</section>\n";
}

std::string events_table(const RunDocument& run, const Detail& detail) {
  const std::vector<std::string> names{"at", "event", "candidate", "against what ran",
                                       "why, and what came of it"};
  std::string rows = heading_row(names);
  const std::size_t first = run.events.size() > detail.events ? run.events.size() - detail.events : 0;
  for (std::size_t i = first; i < run.events.size(); ++i) {
    const EventOfRun& event = run.events[i];
    std::string ratio;
    if (event.compared) ratio = tuning::ratio_text(event.ratio, event.low, event.high);
    std::string why = event.chosen;
    if (!event.verdict.empty()) why += (why.empty() ? "" : "; ") + event.verdict;
    rows += "<tr>" + cell(fmt::format("{:.2f} s", event.time), " class=\"n\"") + cell(event.kind) +
            cell(candidate_text(event.candidate)) + cell(ratio, " class=\"n\"") + cell(why) + "</tr>\n";
  }
  std::string text = table(rows);
  if (first > 0)
    text += fmt::format("<p>{} before these are not shown.</p>\n", counted(std::int64_t(first), "event"));
  return text;
}

std::string trials_section(const RunDocument& run, const Detail& detail) {
  if (!run.searched) return "";
  std::string text = "<section>\n<h2>What was tried</h2>\n";
  if (!run.why.empty()) text += fmt::format("<p>{}.</p>\n", escaped_markup(run.why));
  const std::string plot = trials_plot(run);
  if (!plot.empty())
    text +=
        "<p>What each candidate took for the same work as what ran at that time, in turns with it, with the "
        "interval that decided. <span class=\"s2\"><span class=\"key\"></span>better</span>, <span "
        "class=\"s3\"><span class=\"key\"></span>worse</span>, <span class=\"s5\"><span "
        "class=\"key\"></span>no difference that pays</span>. Point at a mark to see the reason.</p>\n" +
        drawn(plot);
  if (run.trials > static_cast<std::int64_t>(most_trials_drawn))
    text += fmt::format("<p>The last {} of {}.</p>\n", most_trials_drawn, counted(run.trials, "trial"));
  if (run.trials > 0)
    text += fmt::format("<p>All trials together cost {}.</p>\n", seconds_text(run.seconds_lost));
  text += "<details><summary>All decisions in their order</summary>\n" + events_table(run, detail) +
          "</details>\n";
  return text + "</section>\n";
}

std::string timeline_section(const RunDocument& run, std::string_view id) {
  const std::string plot = timeline_plot(run);
  if (plot.empty()) return "";
  std::string text = "<section>\n<h2>Over time</h2>\n" + drawn(plot);
  const auto periods = periods_of(run);
  if (!periods.empty()) {
    text += "<ol class=\"periods\">\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(periods.size(), 40); ++i)
      text += fmt::format(
          "<li><span class=\"s{}\"><span class=\"key\"></span></span>from {:.2f} s: {}</li>\n",
          i % most_colours, periods[i].from, escaped_markup(candidate_text(periods[i].candidate)));
    text += "</ol>\n";
  }
  return text + zoomable_plot(run, id) + "</section>\n";
}

std::string recorded_frame(const RecordedFrameOfRun& frame, const Detail& detail) {
  std::string text;
  std::size_t shown = 0;
  std::size_t groups = 0;
  for (std::size_t group = 0; group < frame.groups.size(); ++group) {
    if (frame.groups[group].plane != 0) continue;
    ++groups;
    if (shown == detail.stages) continue;
    const std::string svg = structure_picture(frame, static_cast<int>(group), detail.boxes);
    if (svg.empty()) continue;
    ++shown;
    std::vector<Box> boxes;
    for (const CallOfRun& call : frame.calls)
      if (std::cmp_equal(call.group, group)) boxes.push_back({call.x0, call.y0, call.x1, call.y1});
    const Coverage coverage = coverage_of(boxes);
    text += fmt::format("<figure>{}<figcaption>{}: {}, {:.3f} times the pixels</figcaption></figure>\n", svg,
                        escaped_markup(frame.groups[group].stages),
                        counted(static_cast<std::int64_t>(boxes.size()), "kernel call"),
                        coverage.covered > 0 ? coverage.computed / coverage.covered : 1.0);
  }
  if (text.empty()) return "";
  text = "<div class=\"pictures\">\n" + text + "</div>\n";
  if (shown < groups) text += fmt::format("<p>{} more stages are not shown.</p>\n", groups - shown);
  if (frame.calls_left_out > 0)
    text += fmt::format("<p>{} more calls were not recorded.</p>\n", frame.calls_left_out);
  return text + "<p>When each worker computed what; pale: the other planes.</p>\n" +
         drawn(frame_timeline(frame, detail.bars));
}

std::string structures_section(const RunDocument& run, const Detail& detail) {
  if (run.recorded.empty() || detail.schedules == 0) return "";
  std::string text = "<section>\n<h2>How frames were divided</h2>\n";
  text += "<p>Recorded while the run went on: what each worker computed of the first plane, in its colour (";
  int workers = 1;
  for (const CallOfRun& call : run.recorded.back().calls)
    workers = std::max(workers, call.worker + 1);
  for (int worker = 0; worker < std::min<int>(workers, most_colours); ++worker)
    text += fmt::format("{}<span class=\"s{}\"><span class=\"key\"></span>worker {}</span>",
                        worker == 0 ? "" : ", ", worker, worker);
  text += "); <span class=\"key shade\"></span>shaded: computed more than once; gray: not needed. Of a "
          "structure that "
          "is one kernel, what the kernel recomputes inside itself does not show.</p>\n";
  std::size_t left = detail.schedules;
  for (auto frame = run.recorded.rbegin(); frame != run.recorded.rend() && left > 0; ++frame, --left) {
    const bool first = frame == run.recorded.rbegin();
    Detail own = detail;
    if (!first) own = {.stages = detail.stages / 2, .boxes = detail.boxes / 2, .bars = detail.bars / 4};
    const std::string body = recorded_frame(*frame, own);
    if (body.empty()) continue;
    const std::string title = fmt::format("{} (frame {})", frame->schedule, frame->frame);
    text += first
                ? fmt::format("<h3>{}</h3>\n{}", escaped_markup(title), body)
                : fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped_markup(title), body);
  }
  return text + "</section>\n";
}

// For a shell.
std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                              "_-./:=,@%+") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_line(const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  for (const std::string& word : words)
    parts.push_back(quoted(word));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string machine_section(const RunDocument& run) {
  std::string text = "<section>\n<h2>Where, and how to do it again</h2>\n";
  if (!run.command.empty())
    text += fmt::format("<p>The run: <code>{}</code></p>\n", escaped_markup(command_line(run.command)));
  if (!run.schedule_words.empty()) {
    std::vector<std::string> words{"millrace", "run", run.pipeline, run.input};
    if (!run.second.empty()) words.push_back(run.second);
    words.insert(words.end(), {"-o", run.output});
    words.insert(words.end(), run.schedule_words.begin(), run.schedule_words.end());
    text +=
        fmt::format("<p>The same pipeline by what ran in the end, and nothing else: <code>{}</code></p>\n",
                    escaped_markup(command_line(words)));
  }
  std::string rows;
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) rows += "<tr>" + cell(name) + cell(value) + "</tr>\n";
  };
  row("processor", run.processor);
  if (run.cores > 0) row("cores", fmt::format("{}", run.cores));
  row("caches of a core", run.caches);
  row("system", run.kernel);
  row("began from", !run.searched      ? ""
                    : run.from_profile ? "the profile of an earlier run (millrace profiles list)"
                                       : "no profile: the best guess");
  if (run.compile_seconds > 0) row("compiled kernels", seconds_text(run.compile_seconds));
  if (!rows.empty()) text += table(rows);
  for (const std::string& sentence : run.trust)
    text += fmt::format("<p class=\"soft\">{}</p>\n", escaped_markup(sentence));
  return text + "</section>\n";
}

std::string sections_of(const RunDocument& run, std::string_view id, const Detail& detail) {
  if (!detail.plots)
    return summary_section(run, detail) + machine_section(run) +
           "<p>There is too much of all else for a page.</p>\n";
  return summary_section(run, detail) + pipeline_section(run) + trials_section(run, detail) +
         timeline_section(run, id) + structures_section(run, detail) + machine_section(run);
}

std::string comparison_section(const RunDocument& a, const RunDocument& b) {
  std::string text = fmt::format("<p class=\"verdict\">{}</p>\n", escaped_markup(verdict_of(a, b)));
  const std::vector<std::string> names{"", a.name, b.name, "second / first"};
  std::string rows = heading_row(names);
  const auto row = [&](std::string_view name, double first, double second, auto show) {
    rows += "<tr>" + cell(name) + cell(show(first), " class=\"n\"") + cell(show(second), " class=\"n\"") +
            cell(first > 0 ? fmt::format("{:.3f}", second / first) : "", " class=\"n\"") + "</tr>\n";
  };
  const auto plain = [](double value) { return fmt::format("{:.5g}", value); };
  row("frames a second", a.fps, b.fps, plain);
  row("frames", static_cast<double>(a.frames), static_cast<double>(b.frames), plain);
  row("seconds", a.wall_seconds, b.wall_seconds, plain);
  row("computing a frame, ms", computing_ms(a), computing_ms(b), plain);
  row("waiting for input, s", a.input_wait_seconds, b.input_wait_seconds, plain);
  row("waiting for output, s", a.output_wait_seconds, b.output_wait_seconds, plain);
  row("to the first frame, s", a.first_frame_seconds, b.first_frame_seconds, plain);
  row("memory at most", a.peak_rss_bytes, b.peak_rss_bytes, [](double bytes) { return bytes_text(bytes); });
  rows += "<tr>" + cell("schedule at the end") + cell(a.schedule) + cell(b.schedule) + "<td></td></tr>\n";
  return text + table(rows);
}

}  // namespace

std::string verdict_of(const RunDocument& run) {
  std::string text =
      fmt::format("{} of {} in {}: {:.4g} frames a second. {}", counted(run.frames, "frame"),
                  run.input_format, seconds_text(run.wall_seconds), run.fps, bound_sentence(run));
  const std::string search = search_sentence(run);
  return search.empty() ? text : text + " " + search;
}

std::string verdict_of(const RunDocument& first, const RunDocument& second) {
  if (!(first.fps > 0) || !(second.fps > 0)) return "One of the two has no frames a second.";
  const double ratio = second.fps / first.fps;
  std::string text =
      ratio >= 1
          ? fmt::format("The second run did {:.2f} times as many frames a second as the first", ratio)
          : fmt::format("The first run did {:.2f} times as many frames a second as the second", 1 / ratio);
  text += fmt::format(" ({:.4g} and {:.4g}).", first.fps, second.fps);
  std::vector<std::string> differences;
  const auto differs = [&](const std::string& a, const std::string& b, const char* what) {
    if (a != b) differences.emplace_back(what);
  };
  differs(first.pipeline, second.pipeline, "pipelines");
  differs(first.input, second.input, "inputs");
  differs(first.second, second.second, "second inputs");
  differs(first.input_format, second.input_format, "formats");
  differs(first.processor, second.processor, "processors");
  if (!differences.empty())
    text += fmt::format(" They are not of the same work: other {}.", fmt::join(differences, ", "));
  return text + " Single runs differ by chance too: repeat them before a small difference means anything.";
}

std::string run_page(const RunDocument& run, const std::optional<RunDocument>& other) {
  std::string page;
  for (const Detail& detail : details) {
    page = page_head(other ? "millrace: two runs" : "millrace: a run", run_style);
    if (!other) {
      page += "<h1>A run of millrace</h1>\n" + sections_of(run, "a", detail);
    } else {
      page += "<h1>Two runs of millrace</h1>\n" + comparison_section(run, *other);
      page += fmt::format("<h1>First: {}</h1>\n{}", escaped_markup(run.name), sections_of(run, "a", detail));
      page += fmt::format("<h1>Second: {}</h1>\n{}", escaped_markup(other->name),
                          sections_of(*other, "b", detail));
    }
    if (detail.plots && (!run.turns.empty() || (other && !other->turns.empty()))) page += zoom_script();
    page += "</body>\n</html>\n";
    if (page.size() <= most_bytes) break;
  }
  return page;
}

Result<std::string> run_page_of(const nlohmann::json& record, const std::string& name) {
  const auto document = read_run_document(record, name);
  if (!document) return std::unexpected(document.error());
  return run_page(*document);
}

}  // namespace millrace::report
