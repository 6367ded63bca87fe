#include "millrace/tuning/record/decision_report.h"

#include "millrace/base/numbers/counted.h"

namespace millrace::tuning {

std::string ratio_text(double ratio, double low, double high) {
  // One frame, or few, cannot tell how much slower: a point estimate would look more certain than it is.
  constexpr double vague = 10;
  if (low > 1 && high > vague * low) return fmt::format("at least {:.2f}x", low);
  return fmt::format("{:.3f}x [{:.3f}, {:.3f}]", ratio, low, high);
}

std::string describe(const Event& event, const Space& space, double start) {
  std::string line = fmt::format("{:>9.3f} s  {:<17} {}", event.time - start, name_of(event.kind),
                                 space.describe(event.candidate));
  switch (event.kind) {
  case EventKind::started:
    return line + fmt::format(": {}", text_of(event.chosen));
  case EventKind::refused:
    return line + ": the machine refuses to run it; it and its like are left out";
  case EventKind::declined:
    if (waits_mostly(event.bottleneck_share))
      return line +
             fmt::format(": until then the run waited mostly for its input or output; at most {:.0f} % "
                         "of what a trial saves would shorten it",
                         100 * event.bottleneck_share);
    return line +
           fmt::format(": {} left: a trial costs more than it can gain (about {:.1f} ms for {:.1f} ms)",
                       counted(event.frames, "frame"), 1e3 * event.loss, 1e3 * event.gain);
  case EventKind::trial:
    return line + fmt::format(": {} of {} in {}; it {}, and {}",
                              ratio_text(event.ratio, event.low, event.high), space.describe(event.against),
                              counted(event.frames, "frame"), text_of(event.chosen), text_of(event.verdict));
  case EventKind::incumbent:
    if (event.verdict == Reason::successor) return line + fmt::format(": it {}", text_of(event.verdict));
    return line + fmt::format(": runs from now on, instead of {}", space.describe(event.against));
  case EventKind::drift:
    return line + fmt::format(": its own cost is now {:.3f}x what it was", event.ratio);
  case EventKind::context:
    return line + ": the work has changed";
  case EventKind::profile_forgotten:
    return line + ": what the profile says does not hold here";
  }
  return line;
}

nlohmann::json to_json(const Event& event, const Space& space, double start) {
  nlohmann::json json = {{"time", event.time - start},
                         {"event", name_of(event.kind)},
                         {"candidate", space.name_of(event.candidate)}};
  if (event.kind == EventKind::started) json["chosen"] = text_of(event.chosen);
  if (event.verdict == Reason::successor) json["chosen"] = text_of(event.verdict);
  if (event.verdict == Reason::successor) return json;
  if (event.kind == EventKind::drift) json["ratio"] = event.ratio;
  if (event.kind == EventKind::declined) {
    json["frames_left"] = event.frames < 0 ? nlohmann::json() : nlohmann::json(event.frames);
    json["bound_share"] = event.bottleneck_share;
    json["expected_gain_seconds"] = event.gain;
    json["expected_loss_seconds"] = event.loss;
    json["chosen"] = text_of(event.chosen);
    return json;
  }
  if (event.against < 0) return json;
  json["against"] = space.name_of(event.against);
  json["frames"] = event.frames;
  json["cost"] = event.cost;
  json["ratio"] = event.ratio;
  json["low"] = event.low;
  json["high"] = event.high;
  json["chosen"] = text_of(event.chosen);
  json["verdict"] = text_of(event.verdict);
  return json;
}

}  // namespace millrace::tuning
