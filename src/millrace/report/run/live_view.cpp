#include "millrace/report/run/live_view.h"

#include "millrace/base/options/progress_line.h"
#include "millrace/base/text/printable.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using Style = LiveSpan::Style;

constexpr std::size_t name_width = 11;
constexpr std::size_t share_width = 6;  // " 100 %"

// The first `most` characters of UTF-8.
std::string_view clipped(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (begins && characters++ == most) break;
  }
  return text.substr(0, end);
}

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

LiveLine fitted(LiveLine line, std::size_t width) {
  for (LiveSpan& span : line) {
    span.text.resize(clipped(span.text, width).size());
    width -= length_of(span.text);
  }
  std::erase_if(line, [](const LiveSpan& span) { return span.text.empty(); });
  return line;
}

// "decode      ########          42 %  the bottleneck"
LiveLine bar_line(std::string_view name, double share, std::size_t width, std::string_view note = "") {
  share = std::clamp(share, 0.0, 1.0);
  const std::size_t beside = name_width + share_width + length_of(note);
  const std::size_t room = std::min<std::size_t>(width > beside ? width - beside : 0, 60);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(room) + 0.5);
  return {{fmt::format("{:<{}}", name, name_width), Style::plain},
          {std::string(filled, ' '), Style::bar},
          {std::string(room - filled, ' '), Style::plain},
          {fmt::format("{:>4.0f} %", 100 * share), Style::plain},
          {std::string(note), Style::strong}};
}

LiveLine value_line(std::string_view name, const std::string& value, Style style = Style::plain) {
  return {{fmt::format("{:<{}}", name, name_width), Style::soft}, {printable(value), style}};
}

struct Shares {
  double input = 0;
  double computing = 0;
  double output = 0;
};

Shares shares_of(const LiveRun& run) {
  const double time = run.now.at - run.earlier.at;
  if (!(time > 0)) return {};
  return {.input = (run.now.input_wait - run.earlier.input_wait) / time,
          .computing = (run.now.computing - run.earlier.computing) / time,
          .output = (run.now.output_wait - run.earlier.output_wait) / time};
}

std::vector<LiveLine> head_of(const LiveRun& run, std::size_t width) {
  std::vector<LiveLine> lines;
  lines.push_back({{printable(run.pipeline), Style::strong}});
  lines.push_back({{fmt::format("{} -> {}", printable(run.from), printable(run.to)), Style::soft}});
  const double time = run.now.at - run.earlier.at;
  std::string rate;
  if (time > 0 && run.earlier.at > 0)
    rate = fmt::format("  (now {:.1f})", static_cast<double>(run.now.frames - run.earlier.frames) / time);
  lines.push_back(
      {{progress_text(run.now.frames, run.total, run.now.at, {.plural = "frames"}), Style::strong},
       {rate, Style::plain}});
  if (run.total && *run.total > 0)
    lines.push_back(
        bar_line("done", static_cast<double>(run.now.frames) / static_cast<double>(*run.total), width));
  return lines;
}

// Where time goes, and what to make faster.
std::vector<LiveLine> shares_lines(const LiveRun& run, std::size_t width) {
  constexpr std::string_view most = "  bottleneck";
  const Shares shares = shares_of(run);
  std::vector<LiveLine> lines;
  for (const auto& [name, share] :
       {std::pair{"decode", shares.input}, {"compute", shares.computing}, {"encode", shares.output}})
    lines.push_back(
        bar_line(name, share, width, name == run.bottleneck ? most : std::string_view("            ")));
  if (!run.cpus.empty()) lines.push_back(value_line("CPUs", run.cpus, Style::strong));
  return lines;
}

std::vector<LiveLine> schedule_lines(const LiveRun& run) {
  std::vector<LiveLine> lines{value_line("running", run.running)};
  if (run.incumbent.empty()) {
    lines.push_back(value_line("", "the schedule was given", Style::soft));
    return lines;
  }
  lines.push_back(value_line("incumbent", run.incumbent, Style::strong));
  lines.push_back(value_line("trial",
                             run.trial.empty() ? fmt::format("none; {} so far", run.trials) : run.trial,
                             run.trial.empty() ? Style::soft : Style::plain));
  return lines;
}

// Share of its time that a worker waits for a CPU, from which on this is shown.
constexpr double told_wait = 0.05;

// Padded to the same width for all workers, so that their bars align.
std::string wait_note(double share, bool any_waits) {
  if (!any_waits) return "";
  const std::string note = fmt::format("  waits for a CPU {:>3.0f} %", 100 * std::clamp(share, 0.0, 1.0));
  return share >= told_wait ? note : std::string(note.size(), ' ');
}

std::vector<LiveLine> worker_lines(const LiveRun& run, std::size_t width, std::size_t most) {
  const double time = run.now.at - run.earlier.at;
  const std::size_t workers = std::min(run.now.workers.size(), run.earlier.workers.size());
  const auto share_of = [&](const std::vector<double>& now, const std::vector<double>& earlier,
                            std::size_t worker) {
    return time > 0 && worker < std::min(now.size(), earlier.size()) ? (now[worker] - earlier[worker]) / time
                                                                     : 0;
  };
  std::vector<double> shares;
  std::vector<double> waits;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    shares.push_back(share_of(run.now.workers, run.earlier.workers, worker));
    waits.push_back(share_of(run.now.waits, run.earlier.waits, worker));
  }
  const bool any_waits = std::ranges::any_of(waits, [](double share) { return share >= told_wait; });
  std::vector<LiveLine> lines;
  // One line for the remaining workers.
  const bool all = workers <= most;
  const std::size_t shown = all ? workers : most > 0 ? most - 1 : 0;
  for (std::size_t worker = 0; worker < shown; ++worker)
    lines.push_back(bar_line(fmt::format("worker {}", worker), shares[worker], width,
                             wait_note(waits[worker], any_waits)));
  if (!all && most > 0) {
    const auto mean_of_rest = [&](const std::vector<double>& all) {
      double sum = 0;
      for (std::size_t worker = shown; worker < workers; ++worker)
        sum += all[worker];
      return sum / static_cast<double>(workers - shown);
    };
    lines.push_back(bar_line(fmt::format("{} more", workers - shown), mean_of_rest(shares), width,
                             wait_note(mean_of_rest(waits), any_waits)));
  }
  return lines;
}

}  // namespace

std::vector<LiveLine> live_lines(const LiveRun& run, int width, int height) {
  const auto columns = static_cast<std::size_t>(std::max(width, 0));
  const auto rows = static_cast<std::size_t>(std::max(height, 0));
  std::vector<LiveLine> lines = head_of(run, columns);
  const auto append = [&](std::vector<LiveLine> more, std::string_view title) {
    if (more.empty()) return;
    // Blank lines and titles only if there is also room for their content.
    if (lines.size() + more.size() + 2 <= rows) {
      lines.emplace_back();
      if (!title.empty()) lines.push_back({{std::string(title), Style::soft}});
    }
    std::ranges::move(more, std::back_inserter(lines));
  };
  append(shares_lines(run, columns), "");
  append(schedule_lines(run), "");
  const auto left = [&] { return rows > lines.size() ? rows - lines.size() : 0; };
  append(worker_lines(run, columns, std::max(left() / 2, std::min<std::size_t>(left(), 3))), "");
  if (!run.decisions.empty() && left() > 2) {
    const std::size_t shown = std::min(run.decisions.size(), left() - 2);
    std::vector<LiveLine> last;
    for (std::size_t i = run.decisions.size() - shown; i < run.decisions.size(); ++i)
      last.push_back({{printable(run.decisions[i]), Style::plain}});
    append(std::move(last), "last decisions");
  }
  if (lines.size() > rows) lines.resize(rows);
  for (LiveLine& line : lines)
    line = fitted(std::move(line), columns);
  return lines;
}

}  // namespace millrace::report
