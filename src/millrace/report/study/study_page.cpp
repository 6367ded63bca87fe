#include "millrace/report/study/study_page.h"

#include "millrace/base/text/escaped_markup.h"
#include "millrace/report/plot/page.h"
#include "millrace/report/plot/plots.h"
#include "millrace/report/study/findings.h"
#include "millrace/report/study/structure_map.h"
#include "millrace/report/study/study_plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

std::string_view about(Figure figure) {
  switch (figure) {
  case Figure::fig2:
  case Figure::fig3:
    return "Each structure is compared with itself on one thread: a steeper line means better scaling, not "
           "more speed.";
  case Figure::fig4:
    return "BD computes again whatever a pixel needs and stores nothing between the stages. With one thread "
           "and with all; the time of sequential with one thread is 1.";
  case Figure::fig5:
    return "BD-STORE does as BD does and also writes every intermediate pixel to memory: what it loses is "
           "the "
           "cost of storing, what it keeps is the gain of locality.";
  case Figure::fig6:
    return "BD-CACHED keeps what was computed, in granules of 64x16 pixels (the paper's have one pixel), and "
           "looks up what is there.";
  case Figure::fig7:
    return "A thread of its own writes each frame's pixels before they are computed. io-same: one worker on "
           "its processing unit; io-diff: all workers on other cores; module-diff: in other modules; pinned, "
           "which is not in the paper: workers as with io-same, that thread anywhere.";
  case Figure::map:
    break;
  }
  return "Not in the paper, whose outlook wishes for synthetic benchmarks: pointwise stages of three "
         "operations each (multiply, round, divide), as one kernel, then a 3x3 blur that reads their result "
         "nine times; on one plane of floats. Each field names by its colour the fastest structure, and says "
         "how "
         "many times as fast as sequential that is; a pale one has a second that is as good.";
}

std::string machines_table(const StudyResult& study) {
  std::string rows = heading_row({"machine", "processor", "cores (threads)", "caches of a core", "shared"});
  for (const auto& [name, model, cores, own, shared] :
       {std::array<std::string_view, 5>{"Nehalem", "Intel i5-750", "4", "64 kB L1, 256 kB L2", "8 MB L3"},
        {"Sandy Bridge", "Intel i7-2600", "4 (8)", "64 kB L1, 256 kB L2", "8 MB L3"},
        {"Sandy Bridge-E", "Intel i7-3930K", "6 (12)", "64 kB L1, 256 kB L2", "12 MB L3"},
        {"Bulldozer", "AMD FX 8192", "8 (4x2)", "64 kB L1, 2 MB L2, both shared by the two of a module",
         "8 MB L3"}})
    rows += "<tr>" + cell(name) + cell(model) + cell(cores) + cell(own) + cell(shared) + "</tr>\n";
  rows += "<tr>" + cell("here") +
          cell(fmt::format("{}, {}", study.processor, machine::name_of(study.machine.isa))) +
          cell(fmt::format("{} ({})", study.machine.cores, study.machine.threads)) +
          cell(study.caches, " colspan=\"2\"") + "</tr>\n";
  return table(rows);
}

std::string inputs_list(const StudyResult& study) {
  std::string list = "<ul>\n";
  for (const StudyInput& input : study.inputs) {
    if (input.key != foreman && input.key != tractor) continue;
    list += fmt::format("<li>the {} clip, in the place of <i>{}</i>: {}, {}, {} frames a run{}</li>\n",
                        input.key == tractor ? "large" : "small", escaped_markup(input.key),
                        escaped_markup(input.name), escaped_markup(input.format), input.frames,
                        input.generated ? "; a generated video, since no clip was given" : "");
  }
  return list + "</ul>\n";
}

std::string time_text(const CaseTimes& times) {
  const MeanInterval interval = mean_interval(times.ms);
  const double margin = interval.high - interval.mean;
  // Up to the first two digits of the margin. Further digits are meaningless.
  const int decimals =
      margin > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(margin))), 0, 6) : 4;
  return fmt::format("{:.{}f} \u00b1 {:.{}f}", interval.mean, decimals, margin, decimals);
}

std::string time_cell(const CaseTimes* times) {
  if (times == nullptr) return "<td></td>";
  if (times->ms.empty()) return fmt::format("<td class=\"soft\">{}</td>", escaped_markup(times->missing));
  return cell(time_text(*times), " class=\"n\"");
}

// A row for each pipeline, structure and affinity, a column for each number of threads and kind of team.
std::string times_table(Figure figure, const StudyResult& study) {
  std::vector<std::pair<int, bool>> columns;
  struct Line {
    StudyCase first;
    std::vector<const CaseTimes*> times;
  };
  std::vector<Line> lines;
  const auto cases = cases_of(figure, study.machine, study.quick);
  for (const StudyCase& each : cases) {
    const std::pair column{each.schedule.threads, each.schedule.fresh_threads};
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  std::ranges::sort(columns, {}, [](const auto& column) { return std::pair(column.first, !column.second); });
  for (const StudyCase& each : cases) {
    auto line = std::ranges::find_if(lines, [&](const Line& known) {
      return known.first.pipeline == each.pipeline &&
             known.first.schedule.structure == each.schedule.structure &&
             known.first.schedule.affinity == each.schedule.affinity;
    });
    if (line == lines.end())
      line = lines.insert(lines.end(), {each, std::vector<const CaseTimes*>(columns.size())});
    const std::pair column{each.schedule.threads, each.schedule.fresh_threads};
    line->times[static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin())] =
        study.find(each);
  }
  std::vector<std::string> names{"pipeline", figure == Figure::fig7 ? "affinity" : "structure"};
  for (const auto& [threads, fresh] : columns)
    names.push_back(threads == 1 ? "1 thread"
                                 : fmt::format("{} threads, {}", threads, fresh ? "made anew" : "pool"));
  std::string rows = heading_row(names);
  for (const Line& line : lines) {
    rows += "<tr>" + cell(line.first.pipeline.substr(1)) +
            cell(figure == Figure::fig7 ? machine::name_of(line.first.schedule.affinity)
                                        : paper_name(line.first.schedule.structure));
    for (const CaseTimes* times : line.times)
      rows += time_cell(times);
    rows += "</tr>\n";
  }
  return "<p>Milliseconds a frame, with the 95 % interval of the mean:</p>\n" + table(rows);
}

std::string judgement_cell(const Judgement& judgement) {
  std::string name(name_of(judgement.verdict));
  std::string css = name;
  std::ranges::replace(css, ' ', '-');
  return fmt::format("<td><span class=\"{}\">{}</span><br/>{}</td>", css, name,
                     escaped_markup(judgement.here));
}

std::string findings_table(const std::vector<Finding>& findings) {
  std::string rows = heading_row({"the paper", "on", "here it holds where",
                                  "here, threads made anew as in the paper", "here, threads of a pool"});
  for (const Finding& finding : findings)
    rows += "<tr>" + cell(finding.paper) + cell(finding.machines) + cell(finding.taken_as) +
            judgement_cell(finding.anew) + judgement_cell(finding.pool) + "</tr>\n";
  return table(rows);
}

std::string map_section(const StudyResult& study) {
  std::string section;
  for (const int threads : map_axes(study.machine, study.quick).threads) {
    section += fmt::format("<p>With {} thread{}, the fastest is, as the arithmetic grows:</p>\n<ul>\n",
                           threads, threads == 1 ? "" : "s");
    for (const std::string& line : crossings(structure_map(study, threads)))
      section += fmt::format("<li>{}</li>\n", escaped_markup(line));
    section += "</ul>\n";
  }
  std::vector<std::string> names{"threads", "size", "operations"};
  for (const image::Structure structure : map_structures())
    names.emplace_back(image::name_of(structure));
  std::string rows = heading_row(names);
  const MapAxes axes = map_axes(study.machine, study.quick);
  for (const int threads : axes.threads) {
    for (const image::Size size : axes.sizes) {
      for (const int stages : axes.stages) {
        rows += "<tr>" + cell(std::to_string(threads)) + cell(fmt::format("{}x{}", size.width, size.height)) +
                cell(std::to_string(operations_per_stage * stages));
        for (const image::Structure structure : map_structures())
          rows += time_cell(study.find(map_case(study.machine, size, stages, structure, threads)));
        rows += "</tr>\n";
      }
    }
  }
  return section + "<details><summary>Milliseconds a frame, with the 95 % interval of the mean</summary>\n" +
         table(rows) + "</details>\n";
}

std::string section_of(Figure figure, const StudyResult& study) {
  std::string section = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n", name_of(figure),
                                    escaped_markup(title_of(figure)), escaped_markup(about(figure)));
  const auto findings = findings_of(figure, study);
  if (!findings.empty()) section += fmt::format("<p><b>{}</b></p>\n", escaped_markup(summary_of(findings)));
  section += "<div class=\"plots\">\n";
  for (const std::string& plot : plots_of(figure, study))
    section += "<div>" + plot + "</div>\n";
  section += "</div>\n";
  if (figure == Figure::map) return section + map_section(study) + "</section>\n";
  return section + times_table(figure, study) + findings_table(findings) + "</section>\n";
}

}  // namespace

std::string study_page(const StudyResult& study) {
  std::string page = page_head("Execution structures on this machine");
  page += "<h1>Execution structures on this machine</h1>\n";
  page +=
      "<p>The experiments of <i>Processing data intensive multimedia workloads</i> (the paper on execution "
      "structures, four x86 processors of 2012), repeated here by <code>millrace study</code>. Only "
      "computing is timed; pixels are 32-bit floats, written anew before each frame is computed, in figures "
      "2 to 6 by the thread that computes the last part of the frame.</p>\n";
  page += fmt::format("<p>{} runs of each setting; settings of one pipeline and input take turns; ratios are "
                      "taken turn by turn, "
                      "and their geometric means and 95 % intervals given, no single turn counting for more "
                      "than three median deviations. Whiskers are 95 % intervals. It "
                      "took {:.0f} s on {}.{}"
                      "</p>\n",
                      study.runs, study.seconds, escaped_markup(study.kernel),
                      study.quick ? " <b>A quick look at tiny frames: its figures mean nothing.</b>" : "");
  page += inputs_list(study);
  page += "<p>BD, BD-STORE and BD-CACHED are the paper's names of <code>--structure backward</code>, "
          "<code>backward-store</code> and <code>backward-cached</code>.</p>\n";
  page +=
      "<p>The kernels here are vectorised and take a fraction of the paper's time for a frame, so that what "
      "making threads costs weighs more. Each figure is therefore shown twice: with threads made anew for "
      "every stage (BD: for every frame), as the paper has it, and with those of a pool that waits for "
      "work.</p>\n";
  page += machines_table(study);
  for (const Figure figure : study.figures)
    page += section_of(figure, study);
  return page + "</body>\n</html>\n";
}

}  // namespace millrace::report
