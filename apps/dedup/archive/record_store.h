// RecordStore: the content of data records out of their order, where references need it.
#pragma once

#include "millrace/base/byte_stream.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace millrace::dedup {

// Keeps the last few contents, since references often come in groups: at most most_kept_bytes of them, or
// one. Thread-safe.
class RecordStore {
 public:
  using Content = std::shared_ptr<const std::vector<std::byte>>;

  static constexpr std::size_t most_kept_bytes = std::size_t{16} << 20;

  // `archive`: holds, at the least, the data records that will be asked for; outlives the store. `name` is
  // for messages. `largest_content`: as the archive's header says.
  RecordStore(RandomBytes& archive, std::string name, std::uint32_t largest_content);

  // The content of the data record that begins at byte `archive_offset`. `number`: of the record that refers
  // to it, for messages. Failure if there is no data record, or a damaged one.
  [[nodiscard]] Result<Content> content_at(std::uint64_t archive_offset, std::uint64_t number);

 private:
  [[nodiscard]] Content find(std::uint64_t archive_offset);
  [[nodiscard]] Result<Content> load(std::uint64_t archive_offset, std::uint64_t number);

  RandomBytes* archive_;
  std::string name_;
  std::uint32_t largest_content_;

  struct Kept {
    std::uint64_t archive_offset;
    Content content;
  };
  std::mutex mutex_;
  std::deque<Kept> kept_;  // the one used last in front
  std::size_t kept_bytes_ = 0;
};

}  // namespace millrace::dedup
