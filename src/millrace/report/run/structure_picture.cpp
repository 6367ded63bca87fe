#include "millrace/report/run/structure_picture.h"

#include "millrace/base/text/escaped_markup.h"
#include "millrace/report/plot/plots.h"
#include "millrace/report/plot/svg.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

constexpr std::size_t most_cells = 4'000'000;

// Counts the boxes over each cell of the grid formed by their edges.
class Grid {
 public:
  explicit Grid(std::span<const Box> boxes) {
    for (const Box& box : boxes) {
      xs_.insert(xs_.end(), {box.x0, box.x1});
      ys_.insert(ys_.end(), {box.y0, box.y1});
    }
    for (std::vector<int>* sides : {&xs_, &ys_}) {
      std::ranges::sort(*sides);
      sides->erase(std::ranges::unique(*sides).begin(), sides->end());
    }
    if (xs_.empty() || xs_.size() * ys_.size() > most_cells) return;
    counts_.assign(xs_.size() * ys_.size(), 0);
    // Two-dimensional differences first, then summed up.
    for (const Box& box : boxes) {
      const auto [x0, y0, x1, y1] =
          std::tuple{place(xs_, box.x0), place(ys_, box.y0), place(xs_, box.x1), place(ys_, box.y1)};
      ++at(x0, y0);
      --at(x1, y0);
      --at(x0, y1);
      ++at(x1, y1);
    }
    for (std::size_t y = 0; y < rows(); ++y) {
      for (std::size_t x = 0; x < columns(); ++x)
        at(x, y) +=
            (x > 0 ? at(x - 1, y) : 0) + (y > 0 ? at(x, y - 1) : 0) - (x > 0 && y > 0 ? at(x - 1, y - 1) : 0);
    }
  }

  [[nodiscard]] bool known() const { return !counts_.empty(); }
  [[nodiscard]] std::size_t columns() const { return xs_.size(); }
  [[nodiscard]] std::size_t rows() const { return ys_.size(); }
  [[nodiscard]] int count(std::size_t x, std::size_t y) const { return counts_[y * columns() + x]; }
  // Cells [x0, x1) of a row.
  [[nodiscard]] Box box(std::size_t x0, std::size_t x1, std::size_t y) const {
    return {xs_[x0], ys_[y], xs_[x1], ys_[y + 1]};
  }

 private:
  static std::size_t place(const std::vector<int>& sides, int side) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sides, side) - sides.begin());
  }
  int& at(std::size_t x, std::size_t y) { return counts_[y * columns() + x]; }

  std::vector<int> xs_;
  std::vector<int> ys_;
  std::vector<int> counts_;  // the last row and column are empty
};

double area(const Box& box) { return double(box.x1 - box.x0) * double(box.y1 - box.y0); }

bool abut(const Box& a, const Box& b) {
  return (a.y0 == b.y0 && a.y1 == b.y1 && a.x1 == b.x0) || (a.x0 == b.x0 && a.x1 == b.x1 && a.y1 == b.y0);
}

std::string path_of(std::span<const Box> boxes) {
  std::string path;
  for (const Box& box : boxes)
    path +=
        fmt::format("M{} {}h{}v{}h{}z", box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0, box.x0 - box.x1);
  return path;
}

}  // namespace

std::vector<Box> overlap_of(std::span<const Box> boxes) {
  const Grid grid(boxes);
  std::vector<Box> overlap;
  if (!grid.known()) return overlap;
  for (std::size_t y = 0; y + 1 < grid.rows(); ++y) {
    for (std::size_t x = 0; x + 1 < grid.columns();) {
      std::size_t end = x;
      while (end + 1 < grid.columns() && grid.count(end, y) > 1)
        ++end;
      if (end > x) overlap.push_back(grid.box(x, end, y));
      x = std::max(end, x + 1);
    }
  }
  return overlap;
}

Coverage coverage_of(std::span<const Box> boxes) {
  Coverage coverage;
  for (const Box& box : boxes)
    coverage.computed += area(box);
  const Grid grid(boxes);
  if (!grid.known()) {
    coverage.covered = coverage.computed;
    return coverage;
  }
  for (std::size_t y = 0; y + 1 < grid.rows(); ++y)
    for (std::size_t x = 0; x + 1 < grid.columns(); ++x)
      if (grid.count(x, y) > 0) coverage.covered += area(grid.box(x, x + 1, y));
  return coverage;
}

std::vector<Box> merged(std::vector<Box> boxes, std::size_t most) {
  while (boxes.size() > most) {
    std::vector<Box> fewer;
    // In pairs, to keep as much detail as possible.
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      Box box = boxes[i];
      if (i + 1 < boxes.size() && abut(box, boxes[i + 1])) {
        box.x1 = boxes[i + 1].x1;
        box.y1 = boxes[i + 1].y1;
        ++i;
      }
      fewer.push_back(box);
    }
    if (fewer.size() == boxes.size()) break;
    boxes = std::move(fewer);
  }
  return boxes;
}

std::string structure_picture(const RecordedFrameOfRun& frame, int group, std::size_t most_boxes) {
  const GroupOfRun& of = frame.groups[static_cast<std::size_t>(group)];
  std::map<int, std::vector<Box>> by_worker;
  std::vector<Box> all;
  for (const CallOfRun& call : frame.calls) {
    if (call.group != group) continue;
    all.push_back({call.x0, call.y0, call.x1, call.y1});
    by_worker[call.worker].push_back(all.back());
  }
  if (all.empty() || of.width < 1 || of.height < 1) return "";
  const Coverage coverage = coverage_of(all);
  const std::string about =
      fmt::format("{}: {} kernel call{} by {} worker{}, {:.2f} times the pixels", of.stages, all.size(),
                  all.size() == 1 ? "" : "s", by_worker.size(), by_worker.size() == 1 ? "" : "s",
                  coverage.covered > 0 ? coverage.computed / coverage.covered : 1);
  Svg svg(of.width, of.height, about, "class=\"frame\"");
  svg.rectangle(0, 0, of.width, of.height, "class=\"unused\"");
  for (auto& [worker, boxes] : by_worker) {
    const auto drawn = merged(std::move(boxes), std::max<std::size_t>(1, most_boxes / by_worker.size()));
    svg.element(fmt::format(
        "<g class=\"s{}\"><path class=\"part\" vector-effect=\"non-scaling-stroke\" d=\"{}\"/></g>\n",
        static_cast<std::size_t>(worker) % most_colours, path_of(drawn)));
  }
  const auto again = merged(overlap_of(all), most_boxes);
  if (!again.empty() && again.size() <= 2 * most_boxes)
    svg.element(fmt::format("<path class=\"again\" d=\"{}\"/>\n", path_of(again)));
  return svg.str();
}

std::string frame_timeline(const RecordedFrameOfRun& frame, std::size_t most_bars) {
  if (frame.calls.empty()) return "";
  // The work of a group, or of another plane.
  struct Bar {
    int worker = 0;
    std::size_t kind = 0;
    double from = 0;
    double to = 0;
  };
  const std::size_t other_planes = frame.groups.size();
  std::vector<Bar> calls;
  for (const CallOfRun& call : frame.calls)
    calls.push_back({call.worker, static_cast<std::size_t>(call.group), call.start_us, call.end_us});
  for (const SpanOfRun& span : frame.other_planes)
    calls.push_back({span.worker, other_planes, span.start_us, span.end_us});
  std::ranges::stable_sort(calls, {}, [](const Bar& bar) { return std::pair(bar.worker, bar.from); });
  const double begin = std::ranges::min(calls, {}, &Bar::from).from;
  const double length = std::max(std::ranges::max(calls, {}, &Bar::to).to - begin, 1e-3);
  constexpr int most_workers = 64;
  constexpr double left = 84;
  constexpr double right = 708;
  constexpr double row = 22;
  const int workers = std::min(calls.back().worker + 1, most_workers);
  const Axis x(0, length, left, right);
  // Merges bars with gaps too small to see.
  std::vector<Bar> bars;
  for (double apart = 0.3; bars.empty() || (bars.size() > most_bars && apart < 50); apart *= 2) {
    bars.clear();
    for (const Bar& call : calls) {
      if (call.worker >= workers) continue;
      const Bar bar{call.worker, call.kind, x(call.from - begin), x(call.to - begin)};
      const bool joins = !bars.empty() && bars.back().worker == bar.worker &&
                         bar.from - bars.back().to < apart &&
                         (bars.back().kind == bar.kind || bar.to - bar.from < apart / 2);
      if (joins)
        bars.back().to = std::max(bars.back().to, bar.to);
      else
        bars.push_back(bar);
    }
  }
  Svg svg(720, 34 + row * workers, fmt::format("what {} workers did in frame {}", workers, frame.frame));
  for (int worker = 0; worker < workers; ++worker)
    svg.text(left - 8, row * worker + 16, Anchor::end, fmt::format("worker {}", worker));
  std::map<std::size_t, std::string> paths;
  for (const Bar& bar : bars)
    paths[bar.kind] +=
        fmt::format("M{:.1f} {:.0f}h{:.1f}v{:.0f}h{:.1f}z", bar.from, row * bar.worker + 2,
                    std::max(bar.to - bar.from, 0.4), row - 4, -std::max(bar.to - bar.from, 0.4));
  for (const auto& [kind, path] : paths)
    svg.element(
        fmt::format("<g class=\"s{}\"><path class=\"fill{}\" d=\"{}\"><title>{}</title></path></g>\n",
                    kind == other_planes ? most_colours - 1 : kind % (most_colours - 1),
                    kind == other_planes ? " pale" : "", path,
                    kind == other_planes ? "the other planes" : escaped_markup(frame.groups[kind].stages)));
  for (const double tick : round_ticks(0, length)) {
    if (x(tick) > right + 1) continue;
    svg.line(x(tick), 0, x(tick), row * workers + 4, "class=\"grid\"");
    svg.text(x(tick), row * workers + 20, Anchor::middle,
             tick >= 1000 ? fmt::format("{:.4g} ms", tick / 1000) : fmt::format("{:.4g} µs", tick));
  }
  return svg.str();
}

}  // namespace millrace::report
