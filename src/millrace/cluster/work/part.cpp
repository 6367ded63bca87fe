#include "millrace/cluster/work/part.h"

#include "millrace/base/file/json_file.h"
#include "millrace/base/file/whole_file.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include <nlohmann/json.hpp>

namespace millrace::cluster {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* part_schema = "millrace.part";
constexpr int part_version = 1;
constexpr std::uint64_t most_record_bytes = 1 << 20;

std::string in_folder(const std::string& folder, std::int64_t chunk, const char* suffix) {
  return std::filesystem::path(folder) / fmt::format("chunk-{:05}{}", chunk, suffix);
}

std::optional<PartRecord> record_from(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  try {
    if (json.at("schema") != part_schema || json.at("version") != part_version) return std::nullopt;
    return PartRecord{.plan = json.at("plan").get<std::string>(),
                      .chunk = json.at("chunk").get<std::int64_t>(),
                      .frames = json.at("frames").get<std::int64_t>(),
                      .decoded = json.at("decoded").get<std::int64_t>(),
                      .decoded_from = json.at("decoded_from").get<std::string>(),
                      .machine = json.at("machine").get<std::string>(),
                      .seconds = json.at("seconds").get<double>(),
                      .content = {.bytes = json.at("bytes").get<std::uint64_t>(),
                                  .digest = json.at("digest").get<std::string>()}};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string part_file(const std::string& folder, std::int64_t chunk) {
  return in_folder(folder, chunk, ".mkv");
}
std::string record_file(const std::string& folder, std::int64_t chunk) {
  return in_folder(folder, chunk, ".json");
}

bool is_part_name(const std::string& path, const JobPlan& plan, const std::string& folder) {
  namespace fs = std::filesystem;
  const auto real = [](const fs::path& name) {
    std::error_code unknown;
    return fs::weakly_canonical(fs::absolute(name, unknown), unknown);
  };
  if (path.empty() || path == "-") return false;
  const fs::path place = real(path);
  if (place.parent_path() != real(fs::path(folder) / place.filename()).parent_path()) return false;
  for (std::int64_t chunk = 0; chunk < std::ssize(plan.chunks); ++chunk)
    for (const std::string& name : {part_file("", chunk), record_file("", chunk)})
      if (place.filename() == name) return true;
  return false;
}

Status write_record(const PartRecord& record, const std::string& folder) {
  const Json json{{"schema", part_schema},
                  {"version", part_version},
                  {"plan", record.plan},
                  {"chunk", record.chunk},
                  {"frames", record.frames},
                  {"decoded", record.decoded},
                  {"decoded_from", record.decoded_from},
                  {"machine", record.machine},
                  {"seconds", record.seconds},
                  {"bytes", record.content.bytes},
                  {"digest", record.content.digest}};
  return write_json(json, record_file(folder, record.chunk), Overwrite::yes);
}

Result<Part> check_part(const JobPlan& plan, const std::string& folder, std::int64_t chunk,
                        const std::stop_token& stop) {
  const auto text = read_regular_file(record_file(folder, chunk), most_record_bytes);
  if (!text) return std::unexpected(text.error());
  std::error_code ignored;
  const std::string file = part_file(folder, chunk);
  const bool is_there = std::filesystem::exists(file, ignored);
  if (!*text) return Part{.state = is_there ? PartState::damaged : PartState::missing};
  const auto* const begin = reinterpret_cast<const char*>((*text)->data());
  const auto record = record_from(Json::parse(begin, begin + (*text)->size(), nullptr, false));
  if (!is_there) return Part{};
  if (!record || record->chunk != chunk) return Part{.state = PartState::damaged};
  if (record->plan != plan.id) return Part{.state = PartState::other_plan};
  const auto content = digest_of_file(file, stop);
  if (!content) return std::unexpected(content.error());
  if (*content != record->content || record->frames != plan.chunks[static_cast<std::size_t>(chunk)].frames)
    return Part{.state = PartState::damaged};
  return Part{.state = PartState::good, .record = *record};
}

}  // namespace millrace::cluster
