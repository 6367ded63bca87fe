// Query run: the stream that finds the indexed images similar to given ones.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/stream.h"
#include "similar/index/image_index.h"
#include "similar/run/image_list.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace millrace::similar {

// Result for one query image.
struct QueryAnswer {
  std::string path;
  std::size_t regions = 0;
  std::size_t candidates = 0;
  // Most similar first. An Error names an image that cannot be read.
  Result<std::vector<Answer>> answers;
};

struct QueryRun {
  std::vector<ImageFile> files;
  std::size_t top = 10;                                       // maximum number of answers, at least 1
  double farthest = std::numeric_limits<double>::infinity();  // answers with a larger distance are left out
  stream::RunOptions options;
  // 1 to most_readers: this many extra threads read files, and all computing is one stage; 0: the source
  // reads.
  int readers = 0;
  // Whether the images' sizes count against RunOptions::byte_budget.
  bool sized = true;
  // Called by one thread at a time, in the order of `files`. An error ends the run.
  std::function<Status(QueryAnswer)> on_answer;
};

// Six stages: load and resize, segment, extract, look up, rank, output; the source reads the files. With
// `readers`, four: names, read, compute (load to rank), output. The answers do not depend on strategy or
// threads.
[[nodiscard]] stream::Finished run_query(const ImageIndex& index, QueryRun run, pool::Team& team);

}  // namespace millrace::similar
