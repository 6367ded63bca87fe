// Index run: the stream that indexes a folder's images.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"
#include "similar/index/image_index.h"
#include "similar/index/journal.h"
#include "similar/run/image_list.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace millrace::similar {

struct IndexRun {
  std::string folder;  // absolute
  std::vector<ImageFile> files;
  // Images with known features. A file with the same name, size and modification time as one of them reuses
  // it.
  std::vector<IndexedImage> known;
  Journal* journal = nullptr;  // records each new image as soon as its features are known; may be null
  stream::RunOptions options;
  // 1 to most_readers: this many extra threads read files, and all computing is one stage; 0: the source
  // reads.
  int readers = 0;
  // Called by one thread at a time, in order.
  std::function<void(const Error& reason)> on_unreadable = [](const Error&) {};
  std::function<void(std::size_t done)> on_progress = [](std::size_t) {};
};

struct IndexOutcome {
  Status status;  // interrupted, or a journal that cannot be written; unreadable images are not errors
  ImageIndex index;
  std::size_t reused = 0;
  std::size_t unreadable = 0;
  stream::RunReport report;
};

// The index has the readable images in the order of `files`. It does not depend on strategy, threads or
// reused features.
[[nodiscard]] IndexOutcome run_index(IndexRun run, pool::Team& team);

}  // namespace millrace::similar
