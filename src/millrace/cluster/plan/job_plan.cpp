#include "millrace/cluster/plan/job_plan.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/printable.h"
#include "millrace/cluster/plan/digest.h"
#include "millrace/cluster/plan/time_runs.h"
#include "millrace/cluster/plan/whole_number.h"
#include "millrace/version.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

namespace millrace::cluster {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "millrace.plan";
constexpr int schema_version = 3;
constexpr std::size_t most_bytes = std::size_t{1} << 28;
constexpr std::int64_t most_frames = std::int64_t{1} << 28;
constexpr std::int64_t most_time = std::int64_t{1} << 61;  // the sum of two times does not overflow
constexpr int any_int = std::numeric_limits<int>::max();

Json options_json(const run::RunOptions& o) {
  Json json{{"pipeline", o.pipeline},
            {"at", o.changes},
            {"planes", o.planes},
            {"codec", o.codec},
            {"crf", nullptr},
            {"preset", o.preset},
            {"bitrate", o.bitrate},
            {"encoder_options", o.encoder_options},
            {"encoder_threads", o.encoder_threads.value_or(1)},
            {"format", o.format},
            {"no_audio", o.no_audio},
            {"no_autorotate", o.no_autorotate},
            {"treat_as_progressive", o.treat_as_progressive}};
  if (o.crf) json["crf"] = *o.crf;
  return json;
}

int int_from(const Json& json, const char* what, int least, int most = any_int) {
  return static_cast<int>(whole_number(json, what, least, most));
}

run::RunOptions options_from(const Json& json) {
  run::RunOptions o;
  json.at("pipeline").get_to(o.pipeline);
  json.at("at").get_to(o.changes);
  json.at("planes").get_to(o.planes);
  json.at("codec").get_to(o.codec);
  if (!json.at("crf").is_null()) o.crf = int_from(json.at("crf"), "its options", -any_int);
  json.at("preset").get_to(o.preset);
  json.at("bitrate").get_to(o.bitrate);
  json.at("encoder_options").get_to(o.encoder_options);
  o.encoder_threads = int_from(json.at("encoder_threads"), "its options", 1, 256);
  json.at("format").get_to(o.format);
  json.at("no_audio").get_to(o.no_audio);
  json.at("no_autorotate").get_to(o.no_autorotate);
  json.at("treat_as_progressive").get_to(o.treat_as_progressive);
  return o;
}

Json optional_number(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(); }

std::optional<std::int64_t> key_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return whole_number(json, "its chunks", 0);
}

// Throws the JSON library's exceptions, or a WrongValue.
JobPlan plan_from(const Json& json) {
  JobPlan plan;
  json.at("millrace").get_to(plan.version);
  const Json& input = json.at("input");
  input.at("file").get_to(plan.input);
  plan.input_bytes = static_cast<std::uint64_t>(whole_number(input.at("bytes"), "the size of the input", 0));
  input.at("digest").get_to(plan.input_digest);
  plan.options = options_from(json.at("options"));
  plan.options.input = plan.input;
  json.at("chunk_seconds").get_to(plan.chunk_seconds);
  plan.list = json.at("list") == "packets" ? FrameList::packets : FrameList::decoded;
  plan.frames = whole_number(json.at("frames"), "the number of frames", 1, most_frames);
  plan.rate_numerator = int_from(json.at("rate").at(0), "its rate", 1);
  plan.rate_denominator = int_from(json.at("rate").at(1), "its rate", 1);
  plan.time_base_numerator = int_from(json.at("time_base").at(0), "its time base", 0);
  plan.time_base_denominator = int_from(json.at("time_base").at(1), "its time base", 1);
  auto times = parse_time_runs(json.at("times").get<std::string>(), static_cast<std::size_t>(plan.frames));
  if (!times || std::ssize(*times) != (plan.has_times() ? plan.frames : 0) ||
      std::ranges::adjacent_find(*times, std::ranges::greater_equal()) != times->end() ||
      (plan.has_times() && (times->front() < -most_time || times->back() > most_time)))
    throw WrongValue("its times");
  plan.times = std::move(*times);
  if (const Json& last = json.at("last_duration"); !last.is_null())
    plan.last_duration =
        whole_number(last, "the duration of its last frame", 1, plan.has_times() ? most_time : 0);
  std::int64_t next = 0;
  for (const Json& each : json.at("chunks")) {
    constexpr const char* what = "its chunks";
    constexpr std::int64_t most_around = image::max_neighbouring_frames;
    ChunkCut cut{.first = whole_number(each.at("first"), what, next, next),
                 .frames = whole_number(each.at("frames"), what, 1, plan.frames - next),
                 .before = whole_number(each.at("before"), what, 0, std::min(next, most_around)),
                 .key = key_from(each.at("key")),
                 .earlier_key = key_from(each.at("earlier_key"))};
    next += cut.frames;
    cut.after = whole_number(each.at("after"), what, 0, std::min(plan.frames - next, most_around));
    if (cut.key.value_or(0) > first_read(cut) || cut.earlier_key.value_or(0) > first_read(cut))
      throw WrongValue(what);
    plan.chunks.push_back(cut);
  }
  if (next != plan.frames) throw WrongValue("its chunks");
  return plan;
}

double seconds_at(const JobPlan& plan, std::int64_t frame) {
  if (!plan.has_times()) return static_cast<double>(frame) * plan.rate_denominator / plan.rate_numerator;
  return static_cast<double>(plan.times[static_cast<std::size_t>(frame)]) * plan.time_base_numerator /
         plan.time_base_denominator;
}

}  // namespace

std::int64_t JobPlan::decoded() const {
  return std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0},
                         [](std::int64_t sum, const ChunkCut& cut) { return sum + decoded_frames(cut); });
}

nlohmann::ordered_json to_json(const JobPlan& plan) {
  Json chunks = Json::array();
  for (const ChunkCut& cut : plan.chunks)
    chunks.push_back({{"first", cut.first},
                      {"frames", cut.frames},
                      {"before", cut.before},
                      {"after", cut.after},
                      {"key", optional_number(cut.key)},
                      {"earlier_key", optional_number(cut.earlier_key)},
                      {"decoded", decoded_frames(cut)}});
  return {{"schema", schema},
          {"version", schema_version},
          {"millrace", plan.version},
          {"input", {{"file", plan.input}, {"bytes", plan.input_bytes}, {"digest", plan.input_digest}}},
          {"options", options_json(plan.options)},
          {"chunk_seconds", plan.chunk_seconds},
          {"list", plan.list == FrameList::packets ? "packets" : "decoded"},
          {"frames", plan.frames},
          {"decoded", plan.decoded()},
          {"rate", {plan.rate_numerator, plan.rate_denominator}},
          {"time_base", {plan.time_base_numerator, plan.time_base_denominator}},
          {"times", to_time_runs(plan.times)},
          {"last_duration", optional_number(plan.last_duration)},
          {"chunks", std::move(chunks)}};
}

// The input's path is left out, because machines may have it under different names.
std::string digest_of(const JobPlan& plan) {
  Json json = to_json(plan);
  json["input"].erase("file");
  return digest_of_text(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<JobPlan> parse_plan(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  const bool ours = json.is_object() && json.contains("schema") && json["schema"] == schema;
  if (!ours) return usage_error("{}: is not a plan; millrace plan makes one", name);
  if (!json.contains("version") || json["version"] != schema_version)
    return usage_error("{}: is a plan of another version of millrace; make it again", name);
  try {
    JobPlan plan = plan_from(json);
    plan.id = digest_of(plan);
    return plan;
  } catch (const Json::exception&) {
    return failure("{}: the plan is damaged; make it again", name);
  } catch (const WrongValue& wrong) {
    return failure("{}: the plan is damaged: {} cannot be; make it again", name, wrong.what());
  }
}

Result<JobPlan> read_plan(const std::string& file, const std::stop_token& stop) {
  const auto text = read_text(
      file, most_bytes, {.missing = "millrace plan makes one", .directory = "give the plan itself"}, stop);
  if (!text) return std::unexpected(text.error());
  auto plan = parse_plan(*text, file);
  if (plan && plan->version != MILLRACE_VERSION)
    return usage_error("{}: was made by millrace {}, this is {}; all machines of a job need the same one",
                       file, plan->version, MILLRACE_VERSION);
  return plan;
}

std::string to_text(const JobPlan& plan) {
  const std::int64_t decoded = plan.decoded();
  std::string text = fmt::format(
      "{} of {} in {} of about {:g} s, encoded as {}; {}\n", counted(plan.frames, "frame"),
      printable(plan.input), counted(plan.chunks.size(), "chunk"), plan.chunk_seconds,
      plan.options.codec.empty() ? "each machine does" : printable(plan.options.codec),
      decoded == plan.frames
          ? std::string("no frame is decoded twice")
          : fmt::format("{} decoded more than once, {:.2f} times as many as without cuts",
                        decoded - plan.frames == 1 ? "1 frame is"
                                                   : counted(decoded - plan.frames, "frame") + " are",
                        static_cast<double>(decoded) / static_cast<double>(plan.frames)));
  text +=
      fmt::format("pipeline {}; encoder threads {}; frames known {}\n\n", printable(plan.options.pipeline),
                  plan.options.encoder_threads.value_or(1),
                  plan.list == FrameList::packets ? "by the times of packets" : "by decoding all of them");
  text += fmt::format("{:>6} {:>12} {:>9} {:>8} {:>9}\n", "chunk", "from", "first", "frames", "decoded");
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const ChunkCut& cut = plan.chunks[i];
    text += fmt::format("{:>6} {:>10.3f} s {:>9} {:>8} {:>9}\n", i, seconds_at(plan, cut.first), cut.first,
                        cut.frames, decoded_frames(cut));
  }
  return text;
}

}  // namespace millrace::cluster
