// JobPlan: a video, what is to be done with it, and the chunks that any machines may do.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/plan/chunk_cuts.h"
#include "millrace/run/words/run_options.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::cluster {

// How the frames of the input are known.
enum class FrameList {
  packets,  // by the times of its packets
  decoded,  // all of it was decoded once
};

// Depends on the input and on the options, and on nothing of the machine that makes it.
struct JobPlan {
  std::string version;  // of the millrace that made it; any other may encode differently
  std::string input;    // absolute, or test:...
  std::uint64_t input_bytes = 0;
  std::string input_digest;  // of samples of its bytes
  run::RunOptions options;   // those that change the output
  double chunk_seconds = 0;
  FrameList list = FrameList::packets;
  std::int64_t frames = 0;
  int rate_numerator = 25;
  int rate_denominator = 1;
  // Seconds in a unit of `times`; 0: frames have no times, and follow each other at the frame rate.
  int time_base_numerator = 0;
  int time_base_denominator = 1;
  std::vector<std::int64_t> times;  // of all frames by the input's clock, growing; or none
  std::vector<ChunkCut> chunks;     // in order, at least one
  std::string id;                   // digest of all this
  std::string warning;              // of making it: one line, not kept; empty: none

  [[nodiscard]] bool has_times() const { return time_base_numerator > 0; }
  // What moves the first frame to 0 that is shown before, as of PresentationClock::shift().
  [[nodiscard]] std::int64_t shift() const {
    return times.empty() || times.front() >= 0 ? 0 : -times.front();
  }
  // Of all chunks together.
  [[nodiscard]] std::int64_t decoded() const;
};

// {"schema": "millrace.plan", "version": 1, ...}; without the id, which follows from the rest.
[[nodiscard]] nlohmann::ordered_json to_json(const JobPlan& plan);
[[nodiscard]] std::string digest_of(const JobPlan& plan);

// Failure, of one line that calls it `name`, where it is no plan, of a later version or damaged.
[[nodiscard]] Result<JobPlan> parse_plan(std::string_view text, const std::string& name);
// The same from a file or pipe. Usage error, too, where another version of millrace made it; interrupted
// where a wait for the pipe is stopped.
[[nodiscard]] Result<JobPlan> read_plan(const std::string& file, const std::stop_token& stop = {});

// A few lines for people, and one for each chunk.
[[nodiscard]] std::string to_text(const JobPlan& plan);

}  // namespace millrace::cluster
