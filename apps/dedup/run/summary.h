// What a run did, for people and for programs.
#pragma once

#include "dedup/archive/archive_info.h"
#include "dedup/run/pack.h"
#include "dedup/run/restore_part.h"
#include "dedup/run/unpack.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::dedup {

// The memory that the process has had at most; 0 where the kernel does not tell.
[[nodiscard]] std::uint64_t peak_rss_bytes();

// A few lines, ended by a newline. `seconds`: of the whole, with what is not the stream's.
[[nodiscard]] std::string to_text(const PackOutcome& outcome, double seconds);
// `verb`: what was done, "restored" or "checked".
[[nodiscard]] std::string to_text(const UnpackOutcome& outcome, double seconds, const std::string& verb);

[[nodiscard]] std::string to_text(const ArchiveInfo& info);

// {"schema": "millrace.dedup.info", "version": 1, "format_version", "method", "level", "average_chunk",
//  "largest_content", "stream_bytes", "archive_bytes", "ratio", "data_records", "new_bytes", "payload_bytes",
//  "references", "referenced_bytes"}
[[nodiscard]] nlohmann::ordered_json to_json(const ArchiveInfo& info);

// {"schema": "millrace.dedup.run", "version": 1, "verb": "pack", "unpack" or "check", "stream_bytes",
//  "archive_bytes", "ratio", "seconds", "bytes_per_second", "peak_rss_bytes", "data_records", "references",
//  after pack "chunks", "duplicate_chunks", "duplicate_bytes", "copied_bytes", after the others
//  "referenced_bytes", "run": as stream::to_json() has it}
[[nodiscard]] nlohmann::ordered_json to_json(const PackOutcome& outcome, double seconds);
[[nodiscard]] nlohmann::ordered_json to_json(const UnpackOutcome& outcome, double seconds,
                                             const std::string& verb);

// `from`: where in the stream the part begins.
[[nodiscard]] std::string to_text(const PartOutcome& outcome, std::uint64_t from, double seconds);
// {"schema": "millrace.dedup.part", "version": 1, "from", "bytes", "stream_bytes", "records", "seconds"}
[[nodiscard]] nlohmann::ordered_json to_json(const PartOutcome& outcome, std::uint64_t from, double seconds);

}  // namespace millrace::dedup
