#include "millrace/report/units/units_page.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/base/text/escaped_markup.h"
#include "millrace/base/text/printable.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/processor/demand.h"
#include "millrace/placement/daemon/reply_members.h"
#include "millrace/report/plot/page.h"
#include "millrace/report/plot/svg.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using machine::SharedUnit;
using nlohmann::json;
namespace reply = placement;

constexpr double in_percent = 100;

constexpr std::string_view unit_colors = R"(
:root { --u-int: #0072b2; --u-fp: #c04a00; --u-simd: #a8508a; --u-l1: #b9b9b9; --u-l2: #8f8f8f; --u-llc: #666;
  --u-dram: #333; --u-bed: #e8e8e4; }
@media (prefers-color-scheme: dark) { :root { --u-int: #56b4e9; --u-fp: #ff8a4c; --u-simd: #e09bc6; --u-l1: #5c5f66;
  --u-l2: #868991; --u-llc: #b0b3ba; --u-dram: #e4e6ea; --u-bed: #2a2d33; } }
.u-int { fill: var(--u-int); } .u-fp { fill: var(--u-fp); } .u-simd { fill: var(--u-simd); } .u-l1 { fill: var(--u-l1); }
.u-l2 { fill: var(--u-l2); } .u-llc { fill: var(--u-llc); } .u-dram { fill: var(--u-dram); } .u-bed { fill: var(--u-bed); }
svg.bar { width: 10rem; vertical-align: middle; } svg.key { display: inline-block; width: 0.75rem; }
.groups { display: flex; flex-wrap: wrap; gap: 1rem; } .group { border: 1px solid var(--edge); border-radius: 4px;
  padding: 0.5rem; display: flex; flex-wrap: wrap; gap: 0.75rem; } .pu { min-width: 11rem; }
.pu p { margin: 0.1rem 0; font-size: 0.88rem; } details table { margin-left: 1rem; }
)";

struct UnitWords {
  SharedUnit unit;
  std::string_view words;
};
constexpr std::array<UnitWords, machine::shared_units> unit_words{{
    {SharedUnit::integer, "integer"},
    {SharedUnit::fp, "floating point"},
    {SharedUnit::simd, "SIMD"},
    {SharedUnit::l1, "L1"},
    {SharedUnit::l2, "L2"},
    {SharedUnit::llc, "last-level cache"},
    {SharedUnit::dram, "memory"},
}};

double share_of(const json& demand, SharedUnit unit) {
  return std::max(0.0, reply::number_of(demand, std::string(name_of(unit)).c_str()));
}

// The used units, in a bar whose full length is the whole time, filled up to `busy`.
std::string unit_bar(const json& demand, double busy) {
  constexpr double width = 160;
  constexpr double height = 12;
  double sum = 0;
  std::string label;
  for (const auto& [unit, words] : unit_words) {
    const double share = share_of(demand, unit);
    sum += share;
    if (share >= 0.005)
      label += fmt::format("{}{} {:.0f} %", label.empty() ? "" : ", ", words, in_percent * share);
  }
  Svg bar(width, height, label.empty() ? "not yet known" : label, " class=\"bar\"");
  bar.rectangle(0, 0, width, height, " class=\"u-bed\"", label.empty() ? "not yet known" : label);
  double x = 0;
  for (const auto& [unit, words] : unit_words) {
    if (sum <= 0) break;
    const double part = share_of(demand, unit) / sum * std::clamp(busy, 0.0, 1.0) * width;
    if (part > 0)
      bar.rectangle(x, 0, part, height, fmt::format(" class=\"u-{}\"", name_of(unit)),
                    fmt::format("{} {:.0f} %", words, in_percent * share_of(demand, unit) / sum));
    x += part;
  }
  return bar.str();
}

std::string legend() {
  std::string text = "<p class=\"soft\">";
  for (const auto& [unit, words] : unit_words) {
    Svg mark(12, 12, words, " class=\"key\"");
    mark.rectangle(0, 0, 12, 12, fmt::format(" class=\"u-{}\"", name_of(unit)));
    text += mark.str() + fmt::format(" {} &#160; ", words);
  }
  return text + "</p>\n";
}

std::string paragraph(std::string_view text, std::string_view more = "") {
  return fmt::format("<p{}>{}</p>\n", more, escaped_markup(text));
}

std::string gain_text(const json& program, const char* key) {
  return reply::member(program, key).is_number()
             ? fmt::format("{:+.1f} %", in_percent * reply::number_of(program, key))
             : "-";
}

std::string verdict_of_daemon(const json& status) {
  const json& daemon = reply::member(status, "daemon");
  const json& programs = reply::list_of(status, "programs");
  const auto placed = std::ranges::count_if(
      programs, [](const json& program) { return reply::text_of(program, "state") == "placed"; });
  const double passed = std::max(reply::number_of(daemon, "seconds"), 1e-3);
  std::string text =
      paragraph(fmt::format("{} program{} watched, {} placed, in {:.0f} s; watching took {:.2f} % of a CPU.",
                            programs.size(), programs.size() == 1 ? " is" : "s are", placed, passed,
                            in_percent * reply::number_of(daemon, "cpu_seconds") / passed));
  if (reply::flag_of(daemon, "paused")) text += paragraph("Placing is paused.");
  if (const std::string why = reply::text_of(daemon, "places_nothing_as"); !why.empty())
    text += paragraph("Nothing is placed: " + why);
  for (const json& lack : reply::list_of(daemon, "lacks"))
    if (const auto* const words = lack.get_ptr<const std::string*>()) text += paragraph(printable(*words));
  return text;
}

// The placement: a box for each group of PUs that share execution units.
std::string groups_of(const json& status) {
  constexpr double least = 0.05;
  std::map<long long, std::string> by_cpu;
  for (const json& program : reply::list_of(status, "programs"))
    for (const json& thread : reply::list_of(program, "thread_list"))
      if (reply::number_of(thread, "busy") >= least && reply::member(thread, "cpu").is_number())
        by_cpu[reply::whole_of(thread, "cpu")] +=
            paragraph(reply::text_of(thread, "name")) +
            unit_bar(reply::member(thread, "demand"), reply::number_of(thread, "busy"));
  std::string text = "<div class=\"groups\">\n";
  for (const json& group : reply::list_of(status, "groups")) {
    const auto* const name = group.get_ptr<const std::string*>();
    if (name == nullptr) continue;
    const auto cpus = machine::CpuSet::parse(*name);
    if (!cpus) continue;
    text += "<div class=\"group\">";
    for (const int cpu : *cpus) {
      const auto found = by_cpu.find(cpu);
      text += fmt::format("<div class=\"pu\"><p><b>CPU {}</b></p>{}</div>", cpu,
                          found == by_cpu.end() ? paragraph("nobody that is watched", " class=\"soft\"")
                                                : found->second);
    }
    text += "</div>\n";
  }
  return text + "</div>\n";
}

std::string where_of(const json& thread) {
  std::string where =
      reply::member(thread, "cpu").is_number() ? fmt::format("CPU {}", reply::whole_of(thread, "cpu")) : "";
  if (const std::string kept = reply::text_of(thread, "kept_on"); !kept.empty()) where += ", kept on " + kept;
  if (reply::flag_of(thread, "left_alone")) where += ", looks after itself";
  return where;
}

std::string threads_of(const json& program) {
  const json& list = reply::list_of(program, "thread_list");
  std::vector<json> threads(list.begin(), list.end());
  std::ranges::stable_sort(threads, std::greater<>(),
                           [](const json& thread) { return reply::number_of(thread, "busy"); });
  constexpr std::size_t most = 200;
  const std::size_t left_out = threads.size() - std::min(threads.size(), most);
  threads.resize(threads.size() - left_out);
  std::string rows = heading_row({"thread", "name", "busy", "uses", "where", "samples"});
  for (const json& thread : threads)
    rows += fmt::format("<tr>{}{}{}<td>{}</td>{}{}</tr>\n",
                        cell(std::to_string(reply::whole_of(thread, "thread"))),
                        cell(reply::text_of(thread, "name")),
                        cell(fmt::format("{:.2f}", reply::number_of(thread, "busy")), " class=\"n\""),
                        unit_bar(reply::member(thread, "demand"), reply::number_of(thread, "busy")),
                        cell(where_of(thread)), cell(std::to_string(reply::whole_of(thread, "samples"))));
  return table(rows) +
         (left_out > 0 ? paragraph(fmt::format("and {} less",
                                               left_out == 1 ? "1 thread that computes"
                                                             : counted(left_out, "thread") + " that compute"))
                       : "");
}

std::string program_of(const json& program) {
  std::string text = fmt::format(
      "<h3>{} <span class=\"soft\">{}</span></h3>\n", escaped_markup(reply::text_of(program, "name")),
      reply::member(program, "pid").is_number() ? fmt::format("process {}", reply::whole_of(program, "pid"))
                                                : "control group");
  text +=
      paragraph(fmt::format("{}: {}", reply::text_of(program, "state"), reply::text_of(program, "reason")));
  if (const std::string trouble = reply::text_of(program, "trouble"); !trouble.empty())
    text += paragraph(trouble);
  text += fmt::format("<details open=\"open\"><summary>{}</summary>\n{}</details>\n",
                      counted(reply::whole_of(program, "threads"), "thread"), threads_of(program));
  std::string events;
  for (const json& event : reply::list_of(program, "events"))
    if (const auto* const words = event.get_ptr<const std::string*>())
      events += fmt::format("<li>{}</li>\n", escaped_markup(printable(*words)));
  return text + (events.empty() ? "" : "<ul>\n" + events + "</ul>\n");
}

std::string programs_of(const json& status) {
  std::string rows =
      heading_row({"program", "threads", "busy", "uses", "state", "gain predicted", "measured", "moves"});
  std::string each;
  for (const json& program : reply::list_of(status, "programs")) {
    rows += fmt::format("<tr>{}{}{}<td>{}</td>{}{}{}{}</tr>\n", cell(reply::text_of(program, "name")),
                        cell(std::to_string(reply::whole_of(program, "threads")), " class=\"n\""),
                        cell(fmt::format("{:.2f}", reply::number_of(program, "busy")), " class=\"n\""),
                        // A program's own bar is always full, because it shows the mixture.
                        unit_bar(reply::member(program, "demand"), 1), cell(reply::text_of(program, "state")),
                        cell(gain_text(program, "gain_predicted"), " class=\"n\""),
                        cell(gain_text(program, "gain_measured"), " class=\"n\""),
                        cell(std::to_string(reply::whole_of(program, "moves")), " class=\"n\""));
    each += program_of(program);
  }
  return table(rows) + legend() + each;
}

}  // namespace

std::string units_page(const json& status) {
  std::string page = page_head("What threads use", unit_colors);
  page += "<h1>What threads use, and who sits beside whom</h1>\n" + verdict_of_daemon(status);
  page += "<h2>CPUs that share execution units</h2>\n";
  page += paragraph(
      "CPUs in one box share execution units; a thread is shown on the CPU where it was last seen.");
  page += groups_of(status);
  page += "<h2>Programs</h2>\n";
  page += reply::list_of(status, "programs").empty() ? paragraph("None is watched: millrace watch PID")
                                                     : programs_of(status);
  return page + "</body>\n</html>\n";
}

}  // namespace millrace::report
