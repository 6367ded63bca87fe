#include "millrace/report/run/run_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using nlohmann::json;

// A missing member, or one of another kind, reads as empty: nothing here fails.
const json& member(const json& object, const char* key) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

double number_of(const json& value, double otherwise = 0) {
  if (!value.is_number()) return otherwise;
  const double number = value.get<double>();
  return std::abs(number) < 1e15 ? number : otherwise;
}

double number(const json& object, const char* key, double otherwise = 0) {
  return number_of(member(object, key), otherwise);
}

std::int64_t whole(const json& object, const char* key) {
  return static_cast<std::int64_t>(number(object, key));
}

int small(const json& object, const char* key) {
  return static_cast<int>(std::clamp(number(object, key), -1e9, 1e9));
}

// Truncates text that could fill a page by itself.
std::string shortened(const std::string& whole, std::size_t most) {
  if (whole.size() <= most) return whole;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(whole[end]) & 0xc0U) == 0x80U)
    --end;
  return whole.substr(0, end) + " ...";
}

constexpr std::size_t most_nodes = 100;  // of a graph
constexpr std::size_t most_name = 300;   // bytes of a name or reason
constexpr std::size_t most_words = 4000;

std::string text(const json& object, const char* key, std::size_t most = most_name) {
  const json& value = member(object, key);
  return value.is_string() ? shortened(value.get_ref<const std::string&>(), most) : "";
}

bool flag(const json& object, const char* key, bool otherwise) {
  const json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// The first items of an array. Empty for any other value.
std::span<const json> items(const json& object, const char* key, std::size_t most) {
  const json& value = member(object, key);
  if (!value.is_array()) return {};
  const auto& all = value.get_ref<const json::array_t&>();
  return std::span(all).first(std::min(all.size(), most));
}

// "0 1 12.5": exactly `count` numbers.
template <std::size_t count> std::optional<std::array<double, count>> numbers_of(const json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& words = value.get_ref<const std::string&>();
  std::array<double, count> numbers{};
  const char* at = words.data();
  const char* const end = at + words.size();
  for (double& number : numbers) {
    while (at != end && *at == ' ')
      ++at;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc() || !(std::abs(number) < 1e12)) return std::nullopt;
    at = read.ptr;
  }
  return at == end ? std::optional(numbers) : std::nullopt;
}

std::vector<std::string> texts(const json& object, const char* key) {
  std::vector<std::string> result;
  for (const json& each : items(object, key, 30))
    if (each.is_string()) result.push_back(shortened(each.get_ref<const std::string&>(), most_name));
  return result;
}

// All or nothing: part of a command would be useless.
std::vector<std::string> read_command(const json& of) {
  constexpr std::size_t longest = 500;
  std::vector<std::string> words;
  std::size_t bytes = 0;
  for (const json& each : items(of, "command", longest + 1)) {
    if (!each.is_string()) return {};
    words.push_back(shortened(each.get_ref<const std::string&>(), most_words));
    bytes += words.back().size();
  }
  return words.size() <= longest && bytes <= most_words ? words : std::vector<std::string>();
}

std::vector<NodeOfRun> read_nodes(const json& of) {
  std::vector<NodeOfRun> nodes;
  for (const json& each : items(of, "graph", most_nodes)) {
    NodeOfRun node{.name = text(each, "name"), .inputs = {}};
    for (const json& input : items(each, "inputs", 8)) {
      const double from = number_of(input, -3);
      if (from >= -2 && from < static_cast<double>(nodes.size()))
        node.inputs.push_back(static_cast<int>(from));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<std::vector<std::size_t>> nodes_of_stage(const json& of) {
  if (!member(of, "nodes").is_array()) return std::nullopt;
  std::vector<std::size_t> nodes;
  for (const json& each : items(of, "nodes", most_nodes)) {
    const double node = number_of(each, -1);
    if (node >= 0 && node < most_nodes) nodes.push_back(static_cast<std::size_t>(node));
  }
  return nodes;
}

std::vector<StageOfRun> read_stages(const json& of) {
  std::vector<StageOfRun> stages;
  for (const json& each : items(of, "stages", 200)) {
    StageOfRun stage{.stages = text(each, "stages"),
                     .nodes = nodes_of_stage(each),
                     .plane = small(each, "plane"),
                     .cpu_ms_per_frame = std::nullopt,
                     .pixels_computed = number(each, "pixels_computed"),
                     .pixels_required = number(each, "pixels_required")};
    if (const json& ms = member(each, "cpu_ms_per_frame"); ms.is_number())
      stage.cpu_ms_per_frame = number_of(ms);
    stages.push_back(std::move(stage));
  }
  return stages;
}

std::vector<EventOfRun> read_events(const json& decisions) {
  std::vector<EventOfRun> events;
  constexpr std::size_t most_events = 500;
  auto all = items(decisions, "events", std::numeric_limits<std::size_t>::max());
  if (all.size() > most_events) all = all.last(most_events);
  for (const json& each : all) {
    events.push_back({.time = number(each, "time"),
                      .kind = text(each, "event"),
                      .candidate = text(each, "candidate"),
                      .against = text(each, "against"),
                      .frames = whole(each, "frames"),
                      .ratio = number(each, "ratio", 1),
                      .low = number(each, "low", 1),
                      .high = number(each, "high", 1),
                      .compared = number(each, "low") > 0 && number(each, "high") >= number(each, "low"),
                      .chosen = text(each, "chosen"),
                      .verdict = text(each, "verdict")});
  }
  return events;
}

// One column for each quantity, with at most as many points as a run writes.
std::vector<TurnsOfRun> read_turns(const json& of) {
  constexpr std::size_t most_points = 1000;
  const json& columns = member(of, "frame_times");
  std::vector<TurnsOfRun> turns(items(columns, "at_seconds", most_points).size());
  const auto fill = [&](const char* key, double TurnsOfRun::* field) {
    const auto values = items(columns, key, most_points);
    for (std::size_t i = 0; i < std::min(turns.size(), values.size()); ++i)
      turns[i].*field = std::max(0.0, number_of(values[i]));
  };
  fill("at_seconds", &TurnsOfRun::at);
  fill("computing_ms", &TurnsOfRun::computing);
  fill("input_wait_ms", &TurnsOfRun::input_wait);
  fill("output_wait_ms", &TurnsOfRun::output_wait);
  fill("slowest_ms", &TurnsOfRun::slowest);
  std::ranges::stable_sort(turns, {}, &TurnsOfRun::at);
  return turns;
}

RecordedFrameOfRun read_recorded(const json& of) {
  constexpr std::size_t most_calls = 20'000;
  RecordedFrameOfRun frame{.frame = whole(of, "frame"),
                           .schedule = text(of, "schedule"),
                           .structure = text(of, "structure"),
                           .threads = small(of, "threads"),
                           .groups = {},
                           .calls = {},
                           .other_planes = {},
                           .calls_left_out = whole(of, "calls_left_out")};
  for (const json& each : items(of, "groups", 300))
    frame.groups.push_back({.stages = text(each, "stages"),
                            .plane = small(each, "plane"),
                            .width = small(each, "width"),
                            .height = small(each, "height")});
  for (const json& each : items(of, "calls", most_calls)) {
    const auto numbers = numbers_of<8>(each);
    if (!numbers) continue;
    const auto& n = *numbers;
    const auto at = [&](std::size_t i) { return static_cast<int>(std::clamp(n[i], -1e9, 1e9)); };
    const CallOfRun call{.worker = at(0),
                         .group = at(1),
                         .x0 = at(2),
                         .y0 = at(3),
                         .x1 = at(4),
                         .y1 = at(5),
                         .start_us = n[6],
                         .end_us = n[7]};
    const bool known = call.group >= 0 && std::cmp_less(call.group, frame.groups.size());
    const bool possible =
        call.worker >= 0 && call.x0 < call.x1 && call.y0 < call.y1 && call.start_us <= call.end_us;
    if (known && possible) frame.calls.push_back(call);
  }
  for (const json& each : items(of, "other_planes", most_calls)) {
    const auto numbers = numbers_of<4>(each);
    if (!numbers || (*numbers)[0] < 0 || (*numbers)[0] > 1e6 || (*numbers)[2] > (*numbers)[3]) continue;
    frame.other_planes.push_back({.worker = static_cast<int>((*numbers)[0]),
                                  .plane = static_cast<int>(std::clamp((*numbers)[1], 0.0, 9.0)),
                                  .start_us = (*numbers)[2],
                                  .end_us = (*numbers)[3]});
  }
  return frame;
}

std::optional<PictureOfRun> read_picture(const json& of, const char* key) {
  const json& picture = member(member(of, "pictures"), key);
  constexpr std::size_t most_bytes = 60'000;  // a page has room for four
  PictureOfRun result{.width = small(picture, "width"),
                      .height = small(picture, "height"),
                      .data = text(picture, "data", most_bytes)};
  constexpr std::string_view kind = "data:image/jpeg;base64,";
  const bool plain =
      result.data.starts_with(kind) &&
      result.data.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=",
                                    kind.size()) == std::string::npos;
  if (!plain || result.width < 1 || result.height < 1) return std::nullopt;
  return result;
}

std::string caches_text(const json& topology) {
  std::string words;
  int level = 0;
  for (const json& each : items(topology, "caches", 30)) {
    if (text(each, "type") == "instruction" || small(each, "level") <= level) continue;
    level = small(each, "level");
    const double kib = number(each, "size_bytes") / 1024;
    words +=
        fmt::format("{}L{} {}", words.empty() ? "" : ", ", level,
                    kib >= 1024 ? fmt::format("{:.4g} MiB", kib / 1024) : fmt::format("{:.4g} KiB", kib));
  }
  return words;
}

void read_machine(const json& of, RunDocument& document) {
  const json& machine = member(of, "machine");
  const json& topology = member(machine, "topology");
  document.kernel = text(machine, "kernel");
  if (const auto packages = items(topology, "packages", 1); !packages.empty())
    document.processor = text(packages.front(), "model");
  document.cores = static_cast<int>(items(topology, "cores", 1'000'000).size());
  document.caches = caches_text(topology);
  document.trust = texts(member(machine, "trust"), "sentences");
}

// "0x64" as "allx64".
std::string tile_text(const std::string& tile) {
  const std::size_t by = tile.find('x');
  if (by == std::string::npos) return tile;
  const auto side = [](const std::string& length) { return length == "0" ? std::string("all") : length; };
  return side(tile.substr(0, by)) + 'x' + side(tile.substr(by + 1));
}

// "tiled 128x32, fusion none, 2 threads, avx2", and the same as options.
void read_schedule(const json& of, RunDocument& document) {
  const json& schedule = member(of, "schedule");
  document.structure = text(schedule, "structure");
  if (document.structure.empty()) return;
  const std::string tile = text(schedule, "tile");
  document.schedule = document.structure;
  if (document.structure != "sequential") document.schedule += ' ' + tile_text(tile);
  document.schedule += fmt::format(", fusion {}, {} thread{}", text(schedule, "fusion"),
                                   whole(schedule, "threads"), whole(schedule, "threads") == 1 ? "" : "s");
  if (whole(schedule, "frames_in_flight") > 1)
    document.schedule += fmt::format(", {} frames in flight", whole(schedule, "frames_in_flight"));
  if (text(schedule, "affinity") != "free") document.schedule += ", " + text(schedule, "affinity");
  document.schedule += ", " + text(schedule, "isa");
  for (const auto& [option, value] :
       {std::pair<const char*, std::string>{"--structure", document.structure},
        {"--tile", tile},
        {"--fusion", text(schedule, "fusion")},
        {"--threads", fmt::format("{}", whole(schedule, "threads"))},
        {"--frames-in-flight", fmt::format("{}", whole(schedule, "frames_in_flight"))},
        {"--affinity", text(schedule, "affinity")},
        {"--isa", text(schedule, "isa")}}) {
    document.schedule_words.emplace_back(option);
    document.schedule_words.push_back(value);
  }
}

}  // namespace

Result<RunDocument> read_run_document(const nlohmann::json& json, std::string name) {
  RunDocument document{.name = std::move(name),
                       .pipeline = text(json, "pipeline", most_words),
                       .input = text(json, "input", most_words),
                       .second = text(json, "second", most_words),
                       .output = text(json, "output", most_words)};
  document.frames = whole(json, "frames");
  document.wall_seconds = number(json, "wall_seconds");
  if (document.pipeline.empty() || document.frames < 1 || !(document.wall_seconds > 0))
    return failure("{}: is neither a record of a run nor output of `millrace status --json`; write a record "
                   "with 'millrace run ... --json FILE'",
                   document.name);
  document.command = read_command(json);
  document.input_format = text(json, "input_format");
  document.output_format = text(json, "output_format");
  document.fps = number(json, "fps");
  document.compute_seconds = number(json, "compute_seconds");
  document.input_wait_seconds = number(json, "input_wait_seconds");
  document.output_wait_seconds = number(json, "output_wait_seconds");
  document.first_frame_seconds = number(json, "first_frame_seconds");
  document.compile_seconds = number(json, "compile_seconds");
  document.peak_rss_bytes = number(json, "peak_rss_bytes");
  document.bound_by = text(json, "bound_by");
  const auto& cpus = member(json, "cpu_use");
  const double ran = number(cpus, "workers_ran_seconds");
  const double waited = number(cpus, "workers_waited_seconds");
  if (ran + waited > 0) document.cpu_wait = waited / (ran + waited);
  document.codec = text(json, "codec");
  document.output_bytes = number(json, "output_bytes");
  document.threads =
      static_cast<int>(std::clamp<std::int64_t>(whole(member(json, "schedule"), "threads"), 1, 4096));
  document.ended_early = text(json, "ended_early", 1000);
  document.output_complete = flag(json, "output_complete", true);
  document.not_kept = texts(json, "not_kept");
  const auto& left_out = member(json, "left_out");
  document.left_out = whole(left_out, "at_start") + whole(left_out, "damaged");
  read_schedule(json, document);
  document.nodes = read_nodes(json);
  document.stages = read_stages(json);
  const auto& decisions = member(json, "decisions");
  document.searched = decisions.is_object();
  document.from_profile = flag(decisions, "from_profile", false);
  document.why = text(decisions, "why", most_words);
  document.trials = whole(decisions, "trials");
  document.seconds_lost = number(decisions, "seconds_lost_to_trials");
  document.events = read_events(decisions);
  document.turns = read_turns(json);
  for (const auto& each : items(json, "recorded_frames", 8))
    document.recorded.push_back(read_recorded(each));
  document.before = read_picture(json, "before");
  document.after = read_picture(json, "after");
  read_machine(json, document);
  return document;
}

}  // namespace millrace::report
