#include "millrace/run/batch/kept_record.h"

#include "millrace/base/descriptor.h"
#include "millrace/base/full_transfer.h"
#include "millrace/base/input_file.h"
#include "millrace/base/printable.h"
#include "millrace/base/system_reason.h"
#include "millrace/base/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>
#include <xxhash.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

constexpr std::uint64_t most_record_bytes = std::uint64_t{1} << 30;
constexpr int format_version = 1;

nlohmann::ordered_json to_json(const FileStamp& stamp) {
  return {{"bytes", stamp.bytes}, {"changed_ns", stamp.changed_ns}};
}

FileStamp stamp_from(const nlohmann::json& json) {
  return {json.at("bytes").get<std::int64_t>(), json.at("changed_ns").get<std::int64_t>()};
}

// Names are bytes, and JSON is UTF-8: they are kept, and compared, as they are printed.
nlohmann::ordered_json line_of(const std::string& output, const JobIdentity& identity, bool complete) {
  nlohmann::ordered_json line{{"version", format_version},
                              {"output", printable(output)},
                              {"complete", complete},
                              {"input", printable(identity.input)},
                              {"settings", printable(identity.settings)}};
  if (identity.input_stamp) line["input_file"] = to_json(*identity.input_stamp);
  return line;
}

// Throws what the JSON library throws where a line is none of ours.
std::pair<std::string, KeptJob> read_line(std::string_view text) {
  const nlohmann::json line = nlohmann::json::parse(text);
  KeptJob job;
  if (line.at("version").get<int>() != format_version) return {};
  job.identity.input = line.at("input").get<std::string>();
  job.identity.settings = line.at("settings").get<std::string>();
  if (line.contains("input_file")) job.identity.input_stamp = stamp_from(line["input_file"]);
  job.complete = line.at("complete").get<bool>();
  if (job.complete) {
    job.frames = line.at("frames").get<std::int64_t>();
    job.output_stamp = stamp_from(line.at("output_file"));
    job.output_digest = line.at("xxh3").get<std::string>();
  }
  return {line.at("output").get<std::string>(), std::move(job)};
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileStamp{status.st_size,
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Result<std::string> digest_of(const std::filesystem::path& file) {
  const auto opened = InputFile::open(file.string());
  if (!opened) return std::unexpected(opened.error());
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (!state || XXH3_128bits_reset(state.get()) == XXH_ERROR) return failure("out of memory");
  std::vector<std::byte> buffer(std::size_t{1} << 18);
  for (;;) {
    const auto count = (*opened)->read(buffer);
    if (!count) return std::unexpected(count.error());
    if (*count == 0) break;
    XXH3_128bits_update(state.get(), buffer.data(), *count);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

KeptRecord::KeptRecord(const std::filesystem::path& folder) : folder_(folder) {
  const auto bytes = read_regular_file((folder / kept_record_name).string(), most_record_bytes);
  if (!bytes || !*bytes || (*bytes)->empty()) return;
  std::string_view text(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size());
  torn_ = !text.ends_with('\n');
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    try {
      auto [output, job] = read_line(line);
      if (!output.empty()) jobs_.insert_or_assign(std::move(output), std::move(job));
    } catch (const nlohmann::json::exception&) {
      continue;
    }
  }
}

KeptVerdict KeptRecord::verdict(const std::string& output_name, const JobIdentity& identity) const {
  const auto found = jobs_.find(printable(output_name));
  if (found == jobs_.end()) return {};
  const KeptJob& job = found->second;
  const auto again = [](const char* why) { return KeptVerdict{Kept::again, why, 0}; };
  const std::filesystem::path output = folder_ / output_name;
  const auto now = stamp_of(output);
  if (!job.complete) return again("it was not completed");
  if (!now) return again("the output is gone");
  if (job.identity.settings != printable(identity.settings)) return again("pipeline or options have changed");
  if (job.identity.input != printable(identity.input)) return again("it was made from another input");
  if (!(job.identity.input_stamp == identity.input_stamp)) return again("the input has changed");
  if (now->bytes != job.output_stamp.bytes) return again("the output has been changed");
  // A copy of a folder may have other times.
  if (*now != job.output_stamp) {
    const auto digest = digest_of(output);
    if (!digest || *digest != job.output_digest) return again("the output has been changed");
  }
  return {Kept::done, "", job.frames};
}

Status KeptRecord::note_begun(const std::string& output_name, const JobIdentity& identity) {
  return append(line_of(output_name, identity, false));
}

Status KeptRecord::note_done(const std::string& output_name, const JobIdentity& identity,
                             std::int64_t frames) {
  const std::filesystem::path output = folder_ / output_name;
  const auto stamp = stamp_of(output);
  if (!stamp) return {};  // a pipe or device: nothing to find again
  const auto digest = digest_of(output);
  if (!digest) return std::unexpected(digest.error());
  nlohmann::ordered_json line = line_of(output_name, identity, true);
  line["frames"] = frames;
  line["output_file"] = to_json(*stamp);
  line["xxh3"] = *digest;
  return append(line);
}

// In one write, so that lines of several batches do not mix.
Status KeptRecord::append(const nlohmann::ordered_json& line) {
  const std::filesystem::path path = folder_ / kept_record_name;
  std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::scoped_lock lock(mutex_);
  if (std::exchange(torn_, false)) text.insert(text.begin(), '\n');
  const auto file =
      Descriptor::owned(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!file.is_open())
    return failure("cannot keep what is done in '{}': {}", path.string(), system_reason(errno));
  const Transfer done = write_all(file.get(), std::as_bytes(std::span(text)));
  if (done.error != 0)
    return failure("cannot keep what is done in '{}': {}", path.string(), system_reason(done.error));
  return {};
}

}  // namespace millrace::run
