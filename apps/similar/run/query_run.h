// Query run: the stream that answers which indexed images are like given ones.
#pragma once

#include "millrace/base/result.h"
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

// What came of one image that was asked about.
struct QueryAnswer {
  std::string path;
  std::size_t regions = 0;
  std::size_t candidates = 0;
  // The most similar first. An image that cannot be read: an error that names it.
  Result<std::vector<Answer>> answers;
};

struct QueryRun {
  std::vector<ImageFile> files;
  std::size_t top = 10;                                       // how many answers, 1 or more
  double farthest = std::numeric_limits<double>::infinity();  // answers of a larger distance are left out
  stream::RunOptions options;
  // 1 to most_readers: files are read by so many threads of their own, and all computing is one stage; 0: the
  // source reads.
  int readers = 0;
  // Whether the images' sizes count against RunOptions::byte_budget.
  bool sized = true;
  // Called by one thread at a time, in the order of `files`. An error ends the run.
  std::function<Status(QueryAnswer)> on_answer;
};

// Six stages: load and resize, segment, extract, look up, rank, output; fed by a source that reads the files.
// With `readers` four: names, read, compute (all from load to rank), output.
// The answers are the same for every strategy and number of threads.
[[nodiscard]] stream::Finished run_query(const ImageIndex& index, QueryRun run, pool::Team& team);

}  // namespace millrace::similar
