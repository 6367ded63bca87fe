#include "dedup/run/summary.h"

#include "millrace/base/text/byte_count.h"
#include "millrace/stream/run/run_report_json.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace millrace::dedup {
namespace {

double real(std::uint64_t count) { return static_cast<double>(count); }
double per_second(std::uint64_t bytes, double seconds) { return real(bytes) / std::max(seconds, 1e-9); }
// Ratio of the two; 1 for empty streams.
double ratio(std::uint64_t bytes, std::uint64_t of) { return of == 0 ? 1 : real(bytes) / real(of); }
double percent(std::uint64_t bytes, std::uint64_t of) { return of == 0 ? 0 : 100 * real(bytes) / real(of); }

std::string stages_text(const stream::RunReport& run) {
  std::string text = fmt::format("{}, {} threads, {} tokens; busy:", stream::strategy_name(run.strategy),
                                 run.threads, run.tokens);
  for (const stream::StageReport& stage : run.stages)
    text += fmt::format("{} {} {:.2f} s", &stage == &run.stages.front() ? "" : ",", stage.name, stage.busy_s);
  return text + "\n";
}

nlohmann::ordered_json run_json(const std::string& verb, std::uint64_t stream_bytes,
                                std::uint64_t archive_bytes, double seconds) {
  return {{"schema", "millrace.dedup.run"},
          {"version", 1},
          {"verb", verb},
          {"stream_bytes", stream_bytes},
          {"archive_bytes", archive_bytes},
          {"ratio", ratio(stream_bytes, archive_bytes)},
          {"seconds", seconds},
          {"bytes_per_second", per_second(stream_bytes, seconds)},
          {"peak_rss_bytes", peak_rss_bytes()}};
}

}  // namespace

// Not getrusage(), whose value starts with the memory of the parent program.
std::uint64_t peak_rss_bytes() {
  constexpr std::string_view field = "VmHWM:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  return 0;
}

std::string to_text(const PackOutcome& o, double seconds) {
  return fmt::format(
      "{} in {}: {:.2f} to 1; {} chunks, {:.1f} % of the bytes duplicates, "
      "{:.1f} % with what is equal in new ones\n"
      "{:.2f} s, {}/s, {} of memory at most\n{}",
      bytes_text(real(o.stream_bytes)), bytes_text(real(o.archive_bytes)),
      ratio(o.stream_bytes, o.archive_bytes), o.dedup.chunks, percent(o.dedup.known_bytes, o.stream_bytes),
      percent(o.dedup.copied_bytes, o.stream_bytes), seconds, bytes_text(per_second(o.stream_bytes, seconds)),
      bytes_text(real(peak_rss_bytes())), stages_text(o.run));
}

std::string to_text(const UnpackOutcome& o, double seconds, const std::string& verb) {
  return fmt::format("{} {} from {}: {} records, {} copies for {:.1f} % of the bytes\n"
                     "{:.2f} s, {}/s, {} of memory at most\n{}",
                     verb, bytes_text(real(o.stream_bytes)), bytes_text(real(o.archive_bytes)),
                     o.data_records, o.references, percent(o.referenced_bytes, o.stream_bytes), seconds,
                     bytes_text(per_second(o.stream_bytes, seconds)), bytes_text(real(peak_rss_bytes())),
                     stages_text(o.run));
}

std::string to_text(const ArchiveInfo& i) {
  const bool levels = i.header.method != Method::stored;
  return fmt::format(
      "format     version {}, {}{}, chunks of {} on average\n"
      "restores   {} ({} bytes)\n"
      "archive    {} ({} bytes): {:.2f} to 1\n"
      "new        {} in {} records, stored in {}: {:.2f} to 1\n"
      "repeated   {} in {} copies: {:.1f} % of what it restores\n",
      i.header.version, method_name(i.header.method), levels ? fmt::format(" level {}", i.header.level) : "",
      bytes_text(i.header.average_chunk), bytes_text(real(i.stream_bytes)), i.stream_bytes,
      bytes_text(real(i.archive_bytes)), i.archive_bytes, ratio(i.stream_bytes, i.archive_bytes),
      bytes_text(real(i.new_bytes())), i.data_records, bytes_text(real(i.payload_bytes)),
      ratio(i.new_bytes(), i.payload_bytes), bytes_text(real(i.referenced_bytes)), i.references,
      percent(i.referenced_bytes, i.stream_bytes));
}

nlohmann::ordered_json to_json(const ArchiveInfo& i) {
  return {{"schema", "millrace.dedup.info"},
          {"version", 1},
          {"format_version", i.header.version},
          {"method", method_name(i.header.method)},
          {"level", i.header.level},
          {"average_chunk", i.header.average_chunk},
          {"largest_content", i.header.largest_content},
          {"stream_bytes", i.stream_bytes},
          {"archive_bytes", i.archive_bytes},
          {"ratio", ratio(i.stream_bytes, i.archive_bytes)},
          {"data_records", i.data_records},
          {"new_bytes", i.new_bytes()},
          {"payload_bytes", i.payload_bytes},
          {"references", i.references},
          {"referenced_bytes", i.referenced_bytes}};
}

nlohmann::ordered_json to_json(const PackOutcome& o, double seconds) {
  nlohmann::ordered_json json = run_json("pack", o.stream_bytes, o.archive_bytes, seconds);
  json["chunks"] = o.dedup.chunks;
  json["duplicate_chunks"] = o.dedup.known_chunks;
  json["duplicate_bytes"] = o.dedup.known_bytes;
  json["copied_bytes"] = o.dedup.copied_bytes;
  json["data_records"] = o.segments;
  json["references"] = o.copies;
  json["run"] = stream::to_json(o.run);
  return json;
}

nlohmann::ordered_json to_json(const UnpackOutcome& o, double seconds, const std::string& verb) {
  nlohmann::ordered_json json = run_json(verb, o.stream_bytes, o.archive_bytes, seconds);
  json["data_records"] = o.data_records;
  json["references"] = o.references;
  json["referenced_bytes"] = o.referenced_bytes;
  json["run"] = stream::to_json(o.run);
  return json;
}

std::string to_text(const PartOutcome& o, std::uint64_t from, double seconds) {
  return fmt::format("restored {} from byte {} on, of {}, from {} records in {:.2f} s\n",
                     bytes_text(real(o.stream_bytes)), from, bytes_text(real(o.whole_bytes)), o.records,
                     seconds);
}

nlohmann::ordered_json to_json(const PartOutcome& o, std::uint64_t from, double seconds) {
  return {{"schema", "millrace.dedup.part"},
          {"version", 1},
          {"from", from},
          {"bytes", o.stream_bytes},
          {"stream_bytes", o.whole_bytes},
          {"records", o.records},
          {"seconds", seconds}};
}

}  // namespace millrace::dedup
