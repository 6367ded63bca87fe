// Parts: what a chunk became, in a folder that all machines of a job write to.
#pragma once

#include "millrace/cluster/plan/digest.h"
#include "millrace/cluster/plan/job_plan.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

// FOLDER/chunk-00012.mkv, and beside it what it must be: FOLDER/chunk-00012.json. The video is written
// first, each whole or not at all: a part counts only with its record.
[[nodiscard]] std::string part_file(const std::string& folder, std::int64_t chunk);
[[nodiscard]] std::string record_file(const std::string& folder, std::int64_t chunk);

struct PartRecord {
  std::string plan;  // its id
  std::int64_t chunk = 0;
  std::int64_t frames = 0;
  std::int64_t decoded = 0;  // for it
  std::string decoded_from;  // in words
  std::string machine;       // its name, for people
  double seconds = 0;
  FileDigest content;
};

[[nodiscard]] Status write_record(const PartRecord& record, const std::string& folder);

enum class PartState {
  missing,
  good,
  other_plan,  // whole, but of another plan
  damaged,     // not what its record says, or without one that can be read
};

struct Part {
  PartState state = PartState::missing;
  PartRecord record;  // where it is good
};

// Reads all of it. Failure where the folder cannot be read.
[[nodiscard]] Result<Part> check_part(const JobPlan& plan, const std::string& folder, std::int64_t chunk,
                                      const std::stop_token& stop = {});

}  // namespace millrace::cluster
