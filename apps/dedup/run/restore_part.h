// restore_part: some bytes of the stream, without restoring the rest.
#pragma once

#include "dedup/archive/record_store.h"
#include "millrace/base/byte_stream.h"
#include "millrace/base/input_file.h"
#include "millrace/base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace millrace::dedup {

struct StreamPart {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> bytes;                      // none, or more than there are: to the end
  std::size_t kept_bytes = RecordStore::least_kept_bytes;  // of records that others copy from
  std::optional<std::uint64_t> limit;  // a part that is longer is a failure before anything is written
};

struct PartOutcome {
  // Failures name the byte and the record where the archive is damaged; of kind interrupted after a stop.
  Status status;
  std::uint64_t stream_bytes = 0;  // that were written
  std::uint64_t whole_bytes = 0;   // of the stream
  std::uint64_t records = 0;       // that were read, besides those that references name
};

// `archive`: a regular file, read by its index: both ends, the records that hold the part and those that they
// refer to. What is written has passed the checks of its records; the check of the whole stream says nothing
// of a part. Usage error where the stream ends before the part begins. Memory: `kept_bytes`,
// one record, 16 bytes for each record of the archive.
[[nodiscard]] PartOutcome restore_part(InputFile& archive, ByteSink& sink, const StreamPart& part,
                                       const std::stop_token& stop,
                                       const std::function<void(std::uint64_t)>& progress = {});

}  // namespace millrace::dedup
