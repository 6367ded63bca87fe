// Parts: the results of chunks, in a folder shared by all machines of a job.
#pragma once

#include "millrace/cluster/plan/digest.h"
#include "millrace/cluster/plan/job_plan.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

// FOLDER/chunk-00012.mkv and its record FOLDER/chunk-00012.json. Each is written atomically, the video first.
// A part without a record does not count.
[[nodiscard]] std::string part_file(const std::string& folder, std::int64_t chunk);
[[nodiscard]] std::string record_file(const std::string& folder, std::int64_t chunk);

// Whether this path, links followed, is that of a part of the plan or of its record, even if it does not
// exist.
[[nodiscard]] bool is_part_name(const std::string& path, const JobPlan& plan, const std::string& folder);

struct PartRecord {
  std::string plan;  // its id
  std::int64_t chunk = 0;
  std::int64_t frames = 0;
  std::int64_t decoded = 0;  // frames decoded for it
  std::string decoded_from;  // in words
  std::string machine;       // its name, for people
  double seconds = 0;
  FileDigest content;
};

[[nodiscard]] Status write_record(const PartRecord& record, const std::string& folder);

enum class PartState {
  missing,
  good,
  other_plan,  // intact, but of another plan
  damaged,     // does not match its record, or has no readable record
};

struct Part {
  PartState state = PartState::missing;
  PartRecord record;  // if it is good
};

// Reads the whole part. Fails if the folder cannot be read.
[[nodiscard]] Result<Part> check_part(const JobPlan& plan, const std::string& folder, std::int64_t chunk,
                                      const std::stop_token& stop = {});

}  // namespace millrace::cluster
