// The head of a live split: owns the source and the sink, and directs the nodes that run the sections.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/cluster/live_split/split_hub.h"
#include "millrace/run/options/run_options.h"
#include "millrace/video/frame/written_as.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

struct SplitOptions {
  run::RunOptions run;    // pipeline, input and output, and encoding
  std::string host;       // local address to listen at for frames, the same as the listener's
  std::string job;        // distinguishes its links from those of other jobs
  std::string token;      // not empty, without spaces
  int nodes = 1;          // number of nodes to start with
  int sections = 0;       // 0: the best number
  double rate = 0;        // wanted frames per second; 0: the rate of the input
  double link_bytes = 0;  // per second between any two machines, above 0
  double patience = 60;   // seconds to wait for the replacement of a lost node
  int worker_limit = 1;   // maximum number of threads for the decoder and for the encoder
  // Called when the input is open and the pipeline fits it, before the output is opened.
  std::function<Status()> check_output;
  std::stop_token stop;
  std::function<void(const std::string&)> on_note;  // called by another thread
  std::function<void(std::int64_t frames, std::optional<std::int64_t> total)> on_progress;
};

struct SplitRecord {
  std::int64_t frames = 0;
  double seconds = 0;             // from the first frame to the last
  int replaced = 0;               // nodes that were lost
  std::vector<PostRecord> posts;  // of the sections
  std::vector<std::string> not_kept;
  video::WrittenAs written_as;
};

// Runs to the last frame. `listener`: accepts the nodes' connections. Returns a usage error, with nothing
// written, if the request is impossible. After a later failure or a stop, the output has all frames written
// so far, complete and in order. The record is filled in in all cases.
[[nodiscard]] Status run_split(Descriptor listener, const SplitOptions& options, SplitRecord& record);

// Whether any machine can read any frame of it. Then `millrace plan` can cut it into chunks without sending
// frames.
[[nodiscard]] bool is_anywhere(const std::string& input);

}  // namespace millrace::cluster
