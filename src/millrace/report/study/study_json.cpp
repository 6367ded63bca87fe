#include "millrace/report/study/findings.h"
#include "millrace/report/study/structure_map.h"
#include "millrace/report/study/study_page.h"

#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const MeanInterval& interval) {
  if (!interval.known) return {{"mean", interval.mean}, {"low", nullptr}, {"high", nullptr}};
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

Json json_of(const CaseTimes& times) {
  const image::Schedule& schedule = times.which.schedule;
  Json json{{"pipeline", times.which.pipeline},
            {"input", times.which.input},
            {"structure", image::name_of(schedule.structure)},
            {"threads", schedule.threads},
            {"fresh_threads", schedule.fresh_threads},
            {"affinity", machine::name_of(schedule.affinity)}};
  if (times.ms.empty()) {
    json["missing"] = times.missing;
    return json;
  }
  json.update(json_of(mean_interval(times.ms)));
  json["ms"] = times.ms;
  for (const auto& [cpu, frames] : times.written_on)
    json["written_on_cpus"][std::to_string(cpu)] = frames;
  return json;
}

Json json_of(const Judgement& judgement) {
  return {{"verdict", name_of(judgement.verdict)}, {"here", judgement.here}};
}

Json map_json(const StudyResult& study) {
  Json maps = Json::array();
  for (const int threads : map_axes(study.machine, study.quick).threads) {
    const StructureMap map = structure_map(study, threads);
    Json fields = Json::array();
    for (std::size_t r = 0; r < map.entries.size(); ++r) {
      for (std::size_t c = 0; c < map.entries[r].size(); ++c) {
        const auto& entry = map.entries[r][c];
        if (!entry) continue;
        const image::Size size = map.axes.sizes[c];
        fields.push_back({{"size", fmt::format("{}x{}", size.width, size.height)},
                          {"operations", operations_per_stage * map.axes.stages[r]},
                          {"best", image::name_of(entry->best)},
                          {"tied", entry->tied},
                          {"second_of_best", json_of(entry->second)},
                          {"sequential_of_best", json_of(entry->sequential)}});
      }
    }
    maps.push_back({{"threads", threads}, {"fields", std::move(fields)}, {"crossings", crossings(map)}});
  }
  return maps;
}

}  // namespace

Json to_json(const StudyResult& study) {
  Json inputs = Json::array();
  for (const StudyInput& input : study.inputs) {
    inputs.push_back({{"input", input.key},
                      {"name", input.name},
                      {"format", input.format},
                      {"frames", input.frames},
                      {"generated", input.generated}});
  }
  Json figures = Json::array();
  for (const Figure figure : study.figures) {
    Json cases = Json::array();
    for (const StudyCase& each : cases_of(figure, study.machine, study.quick)) {
      if (const CaseTimes* times = study.find(each)) cases.push_back(json_of(*times));
    }
    Json json{{"figure", name_of(figure)}};
    if (figure == Figure::map) {
      json["maps"] = map_json(study);
    } else {
      const auto findings = findings_of(figure, study);
      json["summary"] = summary_of(findings);
      for (const Finding& finding : findings) {
        json["findings"].push_back({{"machines", finding.machines},
                                    {"paper", finding.paper},
                                    {"taken_as", finding.taken_as},
                                    {"fresh_threads", json_of(finding.anew)},
                                    {"pool", json_of(finding.pool)}});
      }
    }
    json["cases"] = std::move(cases);
    figures.push_back(std::move(json));
  }
  return {{"quick", study.quick},
          {"runs", study.runs},
          {"seconds", study.seconds},
          {"machine",
           {{"processor", study.processor},
            {"caches", study.caches},
            {"kernel", study.kernel},
            {"threads", study.machine.threads},
            {"cores", study.machine.cores},
            {"isa", machine::name_of(study.machine.isa)}}},
          {"inputs", std::move(inputs)},
          {"figures", std::move(figures)}};
}

}  // namespace millrace::report
