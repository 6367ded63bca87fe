#include "millrace/run/video/run_decisions.h"

#include "millrace/tuning/record/decision_report.h"

#include <utility>

namespace millrace::run {

nlohmann::ordered_json to_json(const RunDecisions& decisions) {
  nlohmann::ordered_json json = {{"objective", decisions.objective},
                                 {"from_profile", decisions.from_profile},
                                 {"searched", decisions.searched()}};
  if (decisions.space) json["candidates"] = decisions.space->size();
  json["incumbent"] = decisions.incumbent;
  json["why"] = decisions.why;
  json["trials"] = decisions.trials;
  json["switches"] = decisions.switches;
  json["seconds_lost_to_trials"] = decisions.lost_to_trials;
  json["bound_share"] = decisions.bottleneck_share ? nlohmann::ordered_json(*decisions.bottleneck_share)
                                                   : nlohmann::ordered_json();
  json["seconds_switching"] = decisions.switching;
  json["seconds_deciding"] = decisions.deciding;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  if (decisions.space) {
    json["starts_at_seconds"] = decisions.starts_at;
    json["events_left_out"] = decisions.events_left_out;
    for (const tuning::Event& event : decisions.events)
      events.emplace_back(tuning::to_json(event, *decisions.space, decisions.begin));
  } else {
    events.push_back({{"time", 0.0},
                      {"event", tuning::name_of(tuning::EventKind::started)},
                      {"candidate", decisions.incumbent},
                      {"chosen", decisions.chosen}});
  }
  json["events"] = std::move(events);
  return json;
}

}  // namespace millrace::run
