#include "millrace/run/options/recording_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace millrace::run {
namespace {

using Json = nlohmann::ordered_json;

// Enough precision for every page, and short enough for one line per column.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

Json frame_times_json(const std::vector<FrameTime>& points) {
  Json columns = {{"at_seconds", Json::array()},     {"frames", Json::array()},
                  {"computing_ms", Json::array()},   {"input_wait_ms", Json::array()},
                  {"output_wait_ms", Json::array()}, {"slowest_ms", Json::array()}};
  for (const FrameTime& point : points) {
    const double per_frame = 1e3 / static_cast<double>(std::max<std::int64_t>(1, point.frames));
    columns["at_seconds"].push_back(rounded(point.at));
    columns["frames"].push_back(point.frames);
    columns["computing_ms"].push_back(rounded(point.computing * per_frame));
    columns["input_wait_ms"].push_back(rounded(point.input_wait * per_frame));
    columns["output_wait_ms"].push_back(rounded(point.output_wait * per_frame));
    columns["slowest_ms"].push_back(rounded(point.slowest * 1e3));
  }
  return columns;
}

Json recorded_frame_json(const RecordedFrame& frame) {
  Json groups = Json::array();
  std::vector<std::vector<std::size_t>> numbers;
  for (const auto& plane : frame.groups) {
    numbers.emplace_back();
    for (const image::GroupName& group : plane) {
      numbers.back().push_back(groups.size());
      groups.push_back({{"stages", group.stages},
                        {"plane", group.plane},
                        {"width", group.size.width},
                        {"height", group.size.height}});
    }
  }
  const std::int64_t begin =
      frame.calls.empty() ? 0 : std::ranges::min(frame.calls, {}, &image::KernelCall::start_ns).start_ns;
  const auto micros = [begin](std::int64_t ns) { return static_cast<double>(ns - begin) / 1e3; };
  const auto plane_of = [&](const image::KernelCall& call) {
    return frame.groups[call.plane][call.group].plane;
  };
  std::vector<image::KernelCall> calls = frame.calls;
  std::ranges::stable_sort(calls, {}, &image::KernelCall::start_ns);
  Json of_first = Json::array();
  // For the other planes, only how long a worker was busy with one.
  struct Span {
    int worker;
    int plane;
    std::int64_t start;
    std::int64_t end;
  };
  std::vector<Span> others;
  std::map<int, std::size_t> last;  // index into `others`, by worker
  for (const image::KernelCall& call : calls) {
    const int plane = plane_of(call);
    if (plane == 0) {
      last.erase(call.worker);
      of_first.push_back(fmt::format("{} {} {} {} {} {} {:.1f} {:.1f}", call.worker,
                                     numbers[call.plane][call.group], call.area.x0, call.area.y0,
                                     call.area.x1, call.area.y1, micros(call.start_ns), micros(call.end_ns)));
      continue;
    }
    const auto open = last.find(call.worker);
    if (open != last.end() && others[open->second].plane == plane &&
        call.start_ns - others[open->second].end < 5000) {
      others[open->second].end = call.end_ns;
      continue;
    }
    last[call.worker] = others.size();
    others.push_back({call.worker, plane, call.start_ns, call.end_ns});
  }
  Json spans = Json::array();
  for (const Span& span : others)
    spans.push_back(
        fmt::format("{} {} {:.1f} {:.1f}", span.worker, span.plane, micros(span.start), micros(span.end)));
  return {{"frame", frame.frame},
          {"schedule", to_string(frame.schedule)},
          {"structure", image::name_of(frame.schedule.structure)},
          {"threads", frame.schedule.threads},
          {"groups", groups},
          {"calls", of_first},
          {"other_planes", spans},
          {"calls_left_out", frame.calls_left_out}};
}

Json picture_json(const video::Thumbnail& picture) {
  return {{"width", picture.width}, {"height", picture.height}, {"data", video::data_url(picture)}};
}

}  // namespace

void add_recording(Json& json, const RunRecording& recording) {
  json["frame_times"] = frame_times_json(recording.frame_times);
  json["recorded_frames"] = Json::array();
  for (const RecordedFrame& frame : recording.frames)
    json["recorded_frames"].push_back(recorded_frame_json(frame));
  json["pictures"] = {{"frame", recording.pictures.frame}};
  if (recording.pictures.before) json["pictures"]["before"] = picture_json(*recording.pictures.before);
  if (recording.pictures.after) json["pictures"]["after"] = picture_json(*recording.pictures.after);
}

}  // namespace millrace::run
