#include "millrace/report/run/zoomable_plot.h"

#include <cstddef>

#include <fmt/format.h>

// The files, embedded in this program.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char millrace_uplot_script_begin[];
extern const char millrace_uplot_script_end[];
extern const char millrace_uplot_style_begin[];
extern const char millrace_uplot_style_end[];
extern const char millrace_uplot_licence_begin[];
extern const char millrace_uplot_licence_end[];
}
// NOLINTEND(readability-identifier-naming)
asm(".pushsection .rodata\n"
    ".global millrace_uplot_script_begin\n"
    ".global millrace_uplot_script_end\n"
    ".global millrace_uplot_style_begin\n"
    ".global millrace_uplot_style_end\n"
    ".global millrace_uplot_licence_begin\n"
    ".global millrace_uplot_licence_end\n"
    "millrace_uplot_script_begin:\n"
    ".incbin \"" MILLRACE_UPLOT "/uPlot.iife.min.js\"\n"
    "millrace_uplot_script_end:\n"
    "millrace_uplot_style_begin:\n"
    ".incbin \"" MILLRACE_UPLOT "/uPlot.min.css\"\n"
    "millrace_uplot_style_end:\n"
    "millrace_uplot_licence_begin:\n"
    ".incbin \"" MILLRACE_UPLOT "/LICENSE\"\n"
    "millrace_uplot_licence_end:\n"
    ".popsection\n");

namespace millrace::report {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// Three lines over the run's duration, in the page's colours. Redrawn if its width or colours change.
constexpr std::string_view drawing = R"js(
(function () {
  var names = ["computing", "waiting for input", "waiting for output", "slowest frame"];
  var plots = [];
  function draw() {
    plots.forEach(function (p) { p.destroy(); });
    plots = [];
    document.querySelectorAll(".zoomable").forEach(function (div) {
      div.hidden = false;
      var style = getComputedStyle(document.documentElement);
      var colour = function (name) { return style.getPropertyValue(name).trim(); };
      var axis = { stroke: colour("--ink"), grid: { stroke: colour("--grid"), width: 1 },
                   ticks: { stroke: colour("--grid"), width: 1 } };
      var series = [{ label: "s", value: function (u, v) { return v == null ? "" : v.toFixed(3); } }];
      names.forEach(function (name, i) {
        series.push({ label: name, stroke: colour("--c" + (i == 3 ? 5 : i)), width: 1, show: i < 3, points: { show: false },
                      value: function (u, v) { return v == null ? "" : v.toPrecision(3) + " ms"; } });
      });
      var place = div.querySelector(".plot");
      plots.push(new uPlot({ width: Math.max(280, place.clientWidth), height: 280, scales: { x: { time: false } },
                             axes: [axis, axis], series: series }, window[div.dataset.of], place));
    });
  }
  draw();
  var waiting = 0;
  addEventListener("resize", function () { clearTimeout(waiting); waiting = setTimeout(draw, 200); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
)js";

}  // namespace

std::string zoomable_plot(const RunDocument& run, std::string_view id) {
  if (run.turns.empty()) return "";
  std::string text =
      fmt::format("<div class=\"zoomable\" data-of=\"turns_{0}\" hidden=\"hidden\"><p>Milliseconds a frame, "
                  "up to {1} frames a "
                  "point; drag to zoom, double-click to go back.</p><div "
                  "class=\"plot\"></div></div>\n<script>window.turns_{0} = [",
                  id,
                  std::max<std::int64_t>(1, (run.frames + static_cast<std::int64_t>(run.turns.size()) - 1) /
                                                static_cast<std::int64_t>(run.turns.size())));
  const auto column = [&](double TurnsOfRun::* field, int digits) {
    text += "[";
    for (const TurnsOfRun& turn : run.turns)
      text += fmt::format("{:.{}g},", turn.*field, digits);
    text.back() = ']';
    text += ",";
  };
  column(&TurnsOfRun::at, 7);
  for (const auto field :
       {&TurnsOfRun::computing, &TurnsOfRun::input_wait, &TurnsOfRun::output_wait, &TurnsOfRun::slowest})
    column(field, 4);
  text.back() = ']';
  return text + ";</script>\n";
}

std::string zoom_script() {
  std::string text = "<style>\n";
  text += between(millrace_uplot_style_begin, millrace_uplot_style_end);
  text += "\n.u-legend { font-size: 0.88rem; }\n</style>\n<script>//<![CDATA[\n/* uPlot:\n";
  text += between(millrace_uplot_licence_begin, millrace_uplot_licence_end);
  text += "*/\n";
  text += between(millrace_uplot_script_begin, millrace_uplot_script_end);
  text += drawing;
  return text + "//]]></script>\n";
}

}  // namespace millrace::report
