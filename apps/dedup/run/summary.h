// Reports the results of a run, for people and for programs.
#pragma once

#include "dedup/archive/archive_info.h"
#include "dedup/run/pack.h"
#include "dedup/run/restore_part.h"
#include "dedup/run/unpack.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::dedup {

// Peak memory of the process; 0 if the kernel does not tell.
[[nodiscard]] std::uint64_t peak_rss_bytes();

// A few lines with a final newline. `seconds`: whole run, including time outside the stream.
[[nodiscard]] std::string to_text(const PackOutcome& outcome, double seconds);
// `verb`: "restored" or "checked".
[[nodiscard]] std::string to_text(const UnpackOutcome& outcome, double seconds, const std::string& verb);

[[nodiscard]] std::string to_text(const ArchiveInfo& info);

// {"schema": "millrace.dedup.info", "version": 1, "format_version", "method", "level", "average_chunk",
//   "largest_content", "stream_bytes", "archive_bytes", "ratio", "data_records", "new_bytes",
//   "payload_bytes", "references", "referenced_bytes"}
[[nodiscard]] nlohmann::ordered_json to_json(const ArchiveInfo& info);

// {"schema": "millrace.dedup.run", "version": 1, "verb": "pack", "unpack" or "check", "stream_bytes",
//   "archive_bytes", "ratio", "seconds", "bytes_per_second", "peak_rss_bytes", "data_records", "references",
//   after pack "chunks", "duplicate_chunks", "duplicate_bytes", "copied_bytes", after the others
//   "referenced_bytes", "run": see stream::to_json()}
[[nodiscard]] nlohmann::ordered_json to_json(const PackOutcome& outcome, double seconds);
[[nodiscard]] nlohmann::ordered_json to_json(const UnpackOutcome& outcome, double seconds,
                                             const std::string& verb);

// `from`: beginning of the part in the stream.
[[nodiscard]] std::string to_text(const PartOutcome& outcome, std::uint64_t from, double seconds);
// {"schema": "millrace.dedup.part", "version": 1, "from", "bytes", "stream_bytes", "records", "seconds"}
[[nodiscard]] nlohmann::ordered_json to_json(const PartOutcome& outcome, std::uint64_t from, double seconds);

}  // namespace millrace::dedup
