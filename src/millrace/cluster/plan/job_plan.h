// JobPlan: a video, the work to do on it, and chunks that any machine can process.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/cluster/plan/chunk_cuts.h"
#include "millrace/run/options/run_options.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::cluster {

// How the frames of the input were determined.
enum class FrameList {
  packets,  // from the times of its packets
  decoded,  // by decoding all of it once
};

// Depends on the input and the options, and not on the machine that makes it.
struct JobPlan {
  std::string version;  // version of millrace that made it; others may encode differently
  std::string input;    // absolute path, or test:...
  std::uint64_t input_bytes = 0;
  std::string input_digest;  // of sampled bytes
  run::RunOptions options;   // only options that change the output
  double chunk_seconds = 0;
  FrameList list = FrameList::packets;
  std::int64_t frames = 0;
  int rate_numerator = 25;
  int rate_denominator = 1;
  // Seconds per unit of `times`. 0: frames have no times and follow each other at the frame rate.
  int time_base_numerator = 0;
  int time_base_denominator = 1;
  std::vector<std::int64_t> times;            // of all frames by the input's clock, increasing; or empty
  std::optional<std::int64_t> last_duration;  // of the last frame, in units of `times`; none: as at the rate
  std::vector<ChunkCut> chunks;               // in order, at least one
  std::string id;                             // digest of all members above
  std::string warning;                        // one-line warning from making it, not stored; empty: none

  [[nodiscard]] bool has_times() const { return time_base_numerator > 0; }
  // Offset that moves the first displayed frame to 0, as in PresentationClock::shift().
  [[nodiscard]] std::int64_t shift() const {
    return times.empty() || times.front() >= 0 ? 0 : -times.front();
  }
  // Number of frames decoded for all chunks together.
  [[nodiscard]] std::int64_t decoded() const;
};

// {"schema": "millrace.plan", "version": 1, ...}. The id is omitted, because it follows from the rest.
[[nodiscard]] nlohmann::ordered_json to_json(const JobPlan& plan);
[[nodiscard]] std::string digest_of(const JobPlan& plan);

// Fails with one line that calls the text `name` if it is not a plan, is of a later version, or is damaged.
[[nodiscard]] Result<JobPlan> parse_plan(std::string_view text, const std::string& name);
// The same from a file or pipe. Also returns a usage error if another version of millrace made it, and
// interrupted if a wait for the pipe is stopped.
[[nodiscard]] Result<JobPlan> read_plan(const std::string& file, const std::stop_token& stop = {});

// A short summary, and one line per chunk.
[[nodiscard]] std::string to_text(const JobPlan& plan);

}  // namespace millrace::cluster
