// The head of a cut: has source and sink, and nodes that do what lies between.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/cluster/cut/cut_hub.h"
#include "millrace/run/words/run_options.h"
#include "millrace/video/frame/written_as.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

struct CutOptions {
  run::RunOptions run;    // pipeline, input and output, and how that is encoded
  std::string host;       // to listen at for frames, as the listener
  std::string job;        // tells its links from those of others
  std::string token;      // not empty, without spaces
  int nodes = 1;          // that it begins with
  int sections = 0;       // 0: as many as are best
  double rate = 0;        // frames a second that are wanted; 0: what the input says
  double link_bytes = 0;  // a second between any two machines, above 0
  double patience = 60;   // seconds in which another must come for one that is lost
  int worker_limit = 1;   // threads that decoder and encoder may have
  // Called when the input is open and the pipeline fits it, before the output is opened.
  std::function<Status()> check_output;
  std::stop_token stop;
  std::function<void(const std::string&)> on_note;  // by another thread
  std::function<void(std::int64_t frames, std::optional<std::int64_t> total)> on_progress;
};

struct CutRecord {
  std::int64_t frames = 0;
  double seconds = 0;             // from the first frame to the last
  int replaced = 0;               // nodes that were lost
  std::vector<PostRecord> posts;  // of the sections
  std::vector<std::string> not_kept;
  video::WrittenAs written_as;
};

// To the last frame. `listener`: where nodes come. Usage error where what is asked for is impossible: then
// nothing was written. Where it fails on the way, or is stopped, the output has what was written up to there,
// complete and in order. The record is filled in all the same.
[[nodiscard]] Status run_cut(Descriptor listener, const CutOptions& options, CutRecord& record);

// Whether any machine could have any frames of it, so that `millrace plan` cuts it into chunks, and no frame
// has to travel.
[[nodiscard]] bool is_anywhere(const std::string& input);

}  // namespace millrace::cluster
