// restore_part: restores a range of the stream without the rest.
#pragma once

#include "dedup/archive/record_store.h"
#include "millrace/base/descriptor/byte_stream.h"
#include "millrace/base/error/result.h"
#include "millrace/base/file/input_file.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace millrace::dedup {

struct StreamPart {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> bytes;                      // nullopt, or more than there are: to the end
  std::size_t kept_bytes = RecordStore::least_kept_bytes;  // cache of records that others copy from
  std::optional<std::uint64_t> limit;  // a longer part is a failure before anything is written
};

struct PartOutcome {
  // Failures name the byte and the record of the damage; `interrupted` after a stop.
  Status status;
  std::uint64_t stream_bytes = 0;  // written
  std::uint64_t whole_bytes = 0;   // length of the whole stream
  std::uint64_t records = 0;       // records that were read, except those that references name
};

// `archive`: a regular file, of which the index selects what is read: both ends, the records of the part and
// those that they refer to. Written bytes have passed the checks of their records; the check of the whole
// stream does not apply to a part. Usage error if the stream ends before the part begins. Memory:
// `kept_bytes`, one record, and 16 bytes per record of the archive.
[[nodiscard]] PartOutcome restore_part(InputFile& archive, ByteSink& sink, const StreamPart& part,
                                       const std::stop_token& stop,
                                       const std::function<void(std::uint64_t)>& progress = {});

}  // namespace millrace::dedup
