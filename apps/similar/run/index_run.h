// Index run: the stream that makes an index of a folder's images.
#pragma once

#include "millrace/base/result.h"
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
  // Images whose features are known already. Those that a file equals by name, size and time of change are
  // taken as they are.
  std::vector<IndexedImage> known;
  Journal* journal = nullptr;  // where new images are noted as soon as they are described; may be null
  stream::RunOptions options;
  // 1 to most_readers: files are read by so many threads of their own, and all computing is one stage; 0: the
  // source reads.
  int readers = 0;
  // Called by one thread at a time, in order.
  std::function<void(const Error& reason)> on_unreadable = [](const Error&) {};
  std::function<void(std::size_t done)> on_progress = [](std::size_t) {};
};

struct IndexOutcome {
  Status status;  // interrupted, or a journal that cannot be written; unreadable images are none
  ImageIndex index;
  std::size_t reused = 0;
  std::size_t unreadable = 0;
  stream::RunReport report;
};

// The index holds the images in the order of `files` without the unreadable ones; it is the same for every
// strategy and number of threads, and however much was known.
[[nodiscard]] IndexOutcome run_index(IndexRun run, pool::Team& team);

}  // namespace millrace::similar
