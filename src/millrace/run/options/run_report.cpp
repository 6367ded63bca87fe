#include "millrace/run/options/run_report.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/numbers/median.h"
#include "millrace/base/text/printable.h"
#include "millrace/run/options/recording_json.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

namespace millrace::run {

namespace {

// "the frames were written on CPU 0 (160)"
std::string written_text(const std::map<int, std::int64_t>& written_on) {
  std::vector<std::string> parts;
  for (const auto& [cpu, frames] : written_on)
    parts.push_back(cpu < 0 ? fmt::format("unknown ({})", frames) : fmt::format("{} ({})", cpu, frames));
  return fmt::format("the frames were written on CPU {}\n", fmt::join(parts, ", "));
}

// "640x360 yuv420p, H.264, 1.2 MB"
std::string written_text(const RunRecord& record) {
  const std::string format = video::to_string(record.output_format);
  const std::string coded = video::to_string(record.written_as);
  return coded.empty() ? format : format + ", " + coded;
}

// Null if no call was timed.
nlohmann::ordered_json cpu_ms_per_frame(const image::StageReport& stage) {
  if (stage.timed_pixels == 0) return nullptr;
  return 1e3 * stage.seconds_per_frame();
}

const char* bound_by(const RunRecord& record) {
  switch (bottleneck_of(record)) {
  case Bottleneck::input:
    return "input";
  case Bottleneck::processing:
    return "filters";
  case Bottleneck::output:
    return "output";
  case Bottleneck::none:
    break;
  }
  return "none";
}

nlohmann::ordered_json to_json(const CpuUse& use) {
  return {{"workers_ran_seconds", use.ran},
          {"workers_waited_seconds", use.waited},
          {"process_seconds", use.process},
          {"cpus", use.cpus}};
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// Null if no frame was written.
nlohmann::ordered_json latency_ms(const Histogram& latency) {
  if (latency.count() == 0) return nullptr;
  return {{"median", 1e3 * latency.quantile(0.5)},
          {"p99", 1e3 * latency.quantile(0.99)},
          {"most", 1e3 * latency.max()}};
}

void add_measured(nlohmann::ordered_json& json, const MeasuredComputation& measured) {
  // There is no reader of the frames, and nothing is written.
  json.erase("first_frame_seconds");
  json.erase("latency_ms");
  json.erase("output_complete");
  json.erase("bound_by");
  json.erase("codec");
  json.erase("output_bytes");
  json["frames_in_memory"] = measured.frames_in_memory;
  json["repetitions"] = measured.ms_per_frame.size();
  json["input_pixels"] = name_of(measured.input_pixels);
  if (!measured.written_on.empty()) {
    json["written_on_cpus"] = nlohmann::ordered_json::object();
    for (const auto& [cpu, frames] : measured.written_on)
      json["written_on_cpus"][std::to_string(cpu)] = frames;
  }
  json["measured_ms_per_frame"] = measured.ms_per_frame;
  json["median_ms_per_frame"] = median(measured.ms_per_frame);
}

}  // namespace

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::vector<std::string> own_command() {
  std::vector<std::string> words;
  const std::string text = read_system_file("/proc/self/cmdline").value_or("");
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\0', from), text.size());
    words.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

std::string to_text(const RunReport& report) {
  const RunRecord& r = report.record;
  std::string text;
  if (!report.measured) {
    text += fmt::format("{} of {} in {:.2f} s: {:.1f} fps, {:.2f} ms a frame computing\n",
                        counted(r.frames, "frame"), video::to_string(r.input_format), r.wall_seconds, r.fps(),
                        r.frames > 0 ? 1e3 * r.compute_seconds / static_cast<double>(r.frames) : 0.0);
  } else {
    const MeasuredComputation& measured = *report.measured;
    const auto [least, most] = std::ranges::minmax(measured.ms_per_frame);
    text += fmt::format(
        "{} of {}, {}, {}: {:.3f} ms a frame (median; {:.3f} to {:.3f})\n",
        counted(measured.frames_in_memory, "frame"), video::to_string(r.input_format),
        measured.input_pixels == InputPixels::fresh ? "each written anew before it is computed" : "in memory",
        counted(measured.ms_per_frame.size(), "time"), median(measured.ms_per_frame), least, most);
    if (!measured.written_on.empty()) text += written_text(measured.written_on);
  }
  if (r.second_format)
    text += fmt::format("second video: {} ({})\n",
                        report.second == "-" ? "standard input" : printable(report.second),
                        video::to_string(*r.second_format));
  if (r.losses.at_start > 0)
    text += fmt::format("left out: {} at the start, which refer to others from before it\n",
                        counted(r.losses.at_start, "frame"));
  if (r.losses.damaged > 0)
    text += fmt::format("left out: {}, or that refer to such ({})\n",
                        counted(r.losses.damaged, "damaged frame"), r.losses.first_damage);
  else if (!r.losses.first_damage.empty())
    text += fmt::format("the input is damaged: {}\n", r.losses.first_damage);
  if (report.explain) text += r.explanation + describe_bottleneck(r);
  if (r.cpu_use && (report.explain || lacks_cpus(*r.cpu_use)))
    if (const std::string waits = describe(*r.cpu_use); !waits.empty()) text += waits + '\n';
  text += fmt::format("schedule: {}", to_string(r.schedule));
  if (r.decisions && r.decisions->trials == 0) {
    text += r.from_profile ? ", from a profile" : ", the best guess";
  } else if (r.decisions) {
    text += fmt::format(", found in {}{}", counted(r.decisions->trials, "trial"),
                        r.from_profile ? " from a profile" : "");
  }
  if (r.stand_in_frames > 0)
    text += fmt::format(" ({} unfused{})", counted(r.stand_in_frames, "frame"),
                        r.kernel_error.empty() ? ", while kernels were compiled" : "");
  text += '\n';
  for (const auto& [affinity, why] : r.refused_affinities)
    text += fmt::format("affinity {} was refused, so the threads ran unbound: {}\n",
                        machine::name_of(affinity), why);
  if (!r.kernel_error.empty()) text += fmt::format("not all was fused: {}\n", r.kernel_error);
  if (report.output != "null" && !report.measured) {
    const bool stream = report.output == "-";
    const std::string name = stream ? "standard output" : printable(report.output);
    text += r.output_complete ? fmt::format("wrote {} ({})\n", name, written_text(r))
            : stream          ? "standard output ends early\n"
                              : fmt::format("{} was not written\n", name);
    if (!r.not_kept.empty()) text += fmt::format("not kept there: {}\n", fmt::join(r.not_kept, "; "));
  }
  return text;
}

nlohmann::ordered_json to_json(const RunReport& report, const machine::MachineReport& machine) {
  const RunRecord& r = report.record;
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const image::StageReport& stage : r.stages) {
    if (stage.pixels_computed == 0) continue;  // another plane's stage also computed this plane's pixels
    stages.push_back({{"stages", stage.stages},
                      {"nodes", stage.nodes},
                      {"plane", stage.plane},
                      {"frames", stage.frames},
                      {"cpu_ms_per_frame", cpu_ms_per_frame(stage)},
                      {"pixels_computed", stage.pixels_computed},
                      {"pixels_required", stage.pixels_required}});
  }
  nlohmann::ordered_json graph = nlohmann::ordered_json::array();
  for (const image::Node& node : report.graph.nodes)
    graph.push_back({{"name", node.filter->name}, {"inputs", node.inputs}});
  const image::Schedule& s = r.schedule;
  nlohmann::ordered_json json{{"pipeline", report.pipeline},
                              {"input", report.input},
                              {"output", report.output},
                              {"command", report.command},
                              {"graph", graph},
                              {"input_format", video::to_string(r.input_format)},
                              {"output_format", video::to_string(r.output_format)},
                              {"frames", r.frames},
                              {"left_out",
                               {{"at_start", r.losses.at_start},
                                {"damaged", r.losses.damaged},
                                {"first_damage", r.losses.first_damage}}},
                              {"ended_early", text_or_null(report.ended_early)},
                              {"output_complete", r.output_complete},
                              {"codec", text_or_null(r.written_as.codec)},
                              {"output_bytes", r.written_as.bytes
                                                   ? nlohmann::ordered_json(*r.written_as.bytes)
                                                   : nlohmann::ordered_json()},
                              {"not_kept", r.not_kept},
                              {"warnings", r.warnings},
                              {"stand_in_frames", r.stand_in_frames},
                              {"wall_seconds", r.wall_seconds},
                              {"compute_seconds", r.compute_seconds},
                              {"input_wait_seconds", r.input_wait_seconds},
                              {"output_wait_seconds", r.output_wait_seconds},
                              {"worker_wait_seconds", r.worker_wait_seconds},
                              {"bound_by", bound_by(r)},
                              {"cpu_use", r.cpu_use ? to_json(*r.cpu_use) : nlohmann::ordered_json()},
                              {"decoder_threads", r.decoder_threads},
                              {"encoder_threads", r.encoder_threads},
                              {"fps", r.fps()},
                              {"first_frame_seconds", r.first_frame_seconds},
                              {"latency_ms", latency_ms(r.latency)},
                              {"compile_seconds", r.compile_seconds},
                              {"intermediate_bytes", r.intermediate_bytes},
                              {"peak_rss_bytes", report.peak_rss_bytes},
                              {"schedule",
                               {{"structure", image::name_of(s.structure)},
                                {"fusion", image::name_of(s.fusion)},
                                {"tile", fmt::format("{}x{}", s.tile.width, s.tile.height)},
                                {"threads", s.threads},
                                {"frames_in_flight", s.frames_in_flight},
                                {"affinity", machine::name_of(s.affinity)},
                                {"isa", machine::name_of(s.isa)},
                                {"fresh_threads", s.fresh_threads}}},
                              {"stages", stages}};
  if (report.measured) add_measured(json, *report.measured);
  for (const auto& [affinity, why] : r.refused_affinities)
    json["refused_affinities"][std::string(machine::name_of(affinity))] = why;
  if (!r.kernel_error.empty()) json["kernel_error"] = r.kernel_error;
  if (r.decisions) json["decisions"] = to_json(*r.decisions);
  if (r.recording) add_recording(json, *r.recording);
  if (r.second_format) {
    json["second"] = report.second;
    json["second_format"] = video::to_string(*r.second_format);
  }
  json["machine"] = machine::to_json(machine);
  return json;
}

}  // namespace millrace::run
