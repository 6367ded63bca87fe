#include "millrace/placement/daemon/daemon_view.h"

#include "millrace/base/text/printable.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/placement/daemon/reply_members.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

using machine::SharedUnit;
using nlohmann::json;

constexpr std::size_t bar_width = 20;
constexpr std::size_t most_threads_shown = 12;  // of each program
constexpr double in_percent = 100;

ViewLine plain(std::string text) { return {{std::move(text), false, std::nullopt}}; }
ViewLine heading(std::string text) { return {{std::move(text), true, std::nullopt}}; }

// Shortens to at most `width` columns, counting bytes; never splits a UTF-8 character.
std::string cut(std::string text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end = width;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  text.resize(end);
  return text;
}

std::string gain_of(const json& program, const char* key) {
  return member(program, key).is_number() ? fmt::format("{:+.1f} %", in_percent * number_of(program, key))
                                          : "-";
}

std::string pid_of(const json& program) {
  return member(program, "pid").is_number() ? std::to_string(whole_of(program, "pid")) : "group";
}

std::string time_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < hour) return fmt::format("{:.0f} min", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

std::vector<ViewLine> daemon_lines(const json& status) {
  const json& daemon = member(status, "daemon");
  const double passed = std::max(number_of(daemon, "seconds"), 1e-3);
  std::vector<ViewLine> lines;
  const std::size_t programs = list_of(status, "programs").size();
  lines.push_back(heading(fmt::format(
      "millrace daemon {} of user {}, for {}: {} program{}, {:.2f} % of a CPU{}", whole_of(daemon, "pid"),
      whole_of(daemon, "user"), time_text(passed), programs, programs == 1 ? "" : "s",
      in_percent * number_of(daemon, "cpu_seconds") / passed, flag_of(daemon, "paused") ? ", paused" : "")));
  if (const std::string why = text_of(daemon, "places_nothing_as"); !why.empty())
    lines.push_back(plain("observes only: " + why));
  for (const json& lack : list_of(daemon, "lacks"))
    if (const auto* const text = lack.get_ptr<const std::string*>()) lines.push_back(plain(printable(*text)));
  if (const std::string missing = text_of(daemon, "missing");
      !missing.empty() && list_of(daemon, "lacks").empty())
    lines.push_back(plain("not all observed: " + missing));
  return lines;
}

constexpr std::string_view program_columns = "PID      NAME             USER  THREADS  BUSY  UNITS           "
                                             "      STATE            PREDICTED  MEASURED  MOVES";

ViewLine program_line(const json& program) {
  ViewLine line = plain(fmt::format("{:<8} {:<15}  {:<5} {:>7} {:>5.2f}  ", pid_of(program),
                                    cut(text_of(program, "name"), 15), whole_of(program, "user"),
                                    whole_of(program, "threads"), number_of(program, "busy")));
  // A program's own bar is always full: it shows the mix.
  for (ViewPart& part : unit_bar(member(program, "demand"), 1, bar_width))
    line.push_back(std::move(part));
  line.push_back({fmt::format("  {:<15}  {:>9}  {:>8}  {:>5}", text_of(program, "state"),
                              gain_of(program, "gain_predicted"), gain_of(program, "gain_measured"),
                              whole_of(program, "moves")),
                  false, std::nullopt});
  return line;
}

ViewLine thread_line(const json& thread) {
  ViewLine line = plain(fmt::format("  {:<8} {:<15}             {:>5.2f}  ", whole_of(thread, "thread"),
                                    cut(text_of(thread, "name"), 15), number_of(thread, "busy")));
  for (ViewPart& part : unit_bar(member(thread, "demand"), number_of(thread, "busy"), bar_width))
    line.push_back(std::move(part));
  std::string where =
      member(thread, "cpu").is_number() ? fmt::format("  CPU {}", whole_of(thread, "cpu")) : "";
  if (const std::string kept = text_of(thread, "kept_on"); !kept.empty()) where += ", kept on " + kept;
  if (flag_of(thread, "left_alone")) where += ", looks after itself";
  if (member(thread, "demand").is_null()) where += ", not yet known";
  line.push_back({where, false, std::nullopt});
  return line;
}

std::vector<json> busiest(const json& program, std::size_t most) {
  const json& list = list_of(program, "thread_list");
  std::vector<json> threads(list.begin(), list.end());
  std::ranges::stable_sort(threads, std::greater<>(),
                           [](const json& thread) { return number_of(thread, "busy"); });
  threads.resize(std::min(threads.size(), most));
  return threads;
}

char letter_of(SharedUnit unit) {
  switch (unit) {
  case SharedUnit::integer:
    return 'i';
  case SharedUnit::fp:
    return 'f';
  case SharedUnit::simd:
    return 's';
  case SharedUnit::l1:
    return '1';
  case SharedUnit::l2:
    return '2';
  case SharedUnit::llc:
    return 'L';
  case SharedUnit::dram:
    break;
  }
  return 'd';
}

// Which threads compute on which CPUs: one line for each group of PUs that share execution units.
std::vector<ViewLine> group_lines(const json& status, std::size_t width) {
  std::map<long long, std::vector<std::string>> by_cpu;
  constexpr double least = 0.05;
  for (const json& program : list_of(status, "programs"))
    for (const json& thread : list_of(program, "thread_list"))
      if (number_of(thread, "busy") >= least && member(thread, "cpu").is_number())
        by_cpu[whole_of(thread, "cpu")].push_back(text_of(thread, "name"));
  std::vector<ViewLine> lines;
  for (const json& group : list_of(status, "groups")) {
    const auto* const name = group.get_ptr<const std::string*>();
    const auto cpus =
        name == nullptr ? Result<machine::CpuSet>(usage_error("no text")) : machine::CpuSet::parse(*name);
    if (!cpus) continue;
    std::string text = fmt::format("  CPUs {:<8}", *name);
    for (const int cpu : *cpus) {
      text += "|";
      for (const std::string& thread : by_cpu[cpu])
        text += " " + thread;
      text += by_cpu[cpu].empty() ? " - " : " ";
    }
    lines.push_back(plain(cut(std::move(text), width)));
  }
  return lines;
}

}  // namespace

std::string to_text(const ViewLine& line) {
  std::string text;
  for (const ViewPart& part : line)
    text += part.text;
  while (text.ends_with(' '))
    text.pop_back();
  return text;
}

std::string to_text(const std::vector<ViewLine>& lines) {
  std::string text;
  for (const ViewLine& line : lines)
    text += to_text(line) + "\n";
  return text;
}

ViewLine unit_bar(const json& demand, double busy, std::size_t width) {
  ViewLine bar;
  double sum = 0;
  for (const SharedUnit unit : machine::all_shared_units)
    sum += std::max(0.0, number_of(demand, std::string(name_of(unit)).c_str()));
  std::size_t drawn = 0;
  double share = 0;
  for (const SharedUnit unit : machine::all_shared_units) {
    if (sum <= 0) break;
    share += std::max(0.0, number_of(demand, std::string(name_of(unit)).c_str())) / sum;
    const auto end = static_cast<std::size_t>(
        std::lround(std::min(share, 1.0) * std::clamp(busy, 0.0, 1.0) * static_cast<double>(width)));
    if (end > drawn) bar.push_back({std::string(end - drawn, letter_of(unit)), false, unit});
    drawn = std::max(drawn, end);
  }
  bar.push_back({std::string(width - drawn, ' '), false, std::nullopt});
  return bar;
}

std::vector<ViewLine> status_view(const json& status) {
  std::vector<ViewLine> lines = daemon_lines(status);
  for (const json& rule : list_of(status, "rules"))
    lines.push_back(plain(fmt::format(
        "watches what comes:{}{}", text_of(rule, "exe").empty() ? "" : " exe " + text_of(rule, "exe"),
        text_of(rule, "cgroup").empty() ? "" : " cgroup " + text_of(rule, "cgroup"))));
  if (list_of(status, "programs").empty()) {
    lines.push_back(plain("nothing is watched; have something watched: millrace watch PID"));
    return lines;
  }
  lines.push_back(heading(std::string(program_columns)));
  for (const json& program : list_of(status, "programs")) {
    lines.push_back(program_line(program));
    if (const std::string trouble = text_of(program, "trouble"); !trouble.empty())
      lines.push_back(plain("  " + trouble));
  }
  return lines;
}

std::vector<ViewLine> top_view(const json& status, std::size_t width) {
  std::vector<ViewLine> lines = daemon_lines(status);
  lines.emplace_back();
  lines.push_back(heading("PUs that share execution units, and who computes on them"));
  for (ViewLine& line : group_lines(status, width))
    lines.push_back(std::move(line));
  lines.emplace_back();
  lines.push_back(heading(std::string(program_columns)));
  for (const json& program : list_of(status, "programs")) {
    lines.push_back(program_line(program));
    for (const json& thread : busiest(program, most_threads_shown))
      lines.push_back(thread_line(thread));
    const auto all = static_cast<std::size_t>(list_of(program, "thread_list").size());
    if (all > most_threads_shown)
      lines.push_back(plain(fmt::format("  and {} more threads", all - most_threads_shown)));
  }
  lines.emplace_back();
  ViewLine legend = plain("units:");
  for (const SharedUnit unit : machine::all_shared_units) {
    legend.push_back({" ", false, std::nullopt});
    legend.push_back({std::string(1, letter_of(unit)), false, unit});
    legend.push_back({fmt::format(" {}", name_of(unit)), false, std::nullopt});
  }
  lines.push_back(std::move(legend));
  return lines;
}

std::vector<ViewLine> explain_view(const json& explained) {
  std::vector<ViewLine> lines;
  for (const json& program : list_of(explained, "programs")) {
    lines.push_back(heading(fmt::format("{} ({}), of user {}, {} threads, {}", text_of(program, "name"),
                                        pid_of(program), whole_of(program, "user"),
                                        whole_of(program, "threads"), text_of(program, "state"))));
    const auto fact = [&](std::string_view name, const std::string& text) {
      if (!text.empty()) lines.push_back(plain(fmt::format("  {:<14} {}", name, text)));
    };
    fact("executes", text_of(program, "exe"));
    fact("control group", text_of(program, "cgroup"));
    fact("may use CPUs", text_of(program, "allowed"));
    fact("why", text_of(program, "reason"));
    fact("trouble", text_of(program, "trouble"));
    fact("predicted gain", gain_of(program, "gain_predicted"));
    fact("measured gain", gain_of(program, "gain_measured"));
    fact("moves", fmt::format("{} made, {} refused by the system", whole_of(program, "moves"),
                              whole_of(program, "refused")));
    fact("left alone", fmt::format("{} threads that look after themselves", whole_of(program, "left_alone")));
    for (const json& event : list_of(program, "events"))
      if (const auto* const text = event.get_ptr<const std::string*>()) fact("", printable(*text));
    for (const json& thread : busiest(program, std::string::npos))
      lines.push_back(thread_line(thread));
  }
  return lines;
}

}  // namespace millrace::placement
