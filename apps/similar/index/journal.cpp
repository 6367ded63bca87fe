#include "similar/index/journal.h"

#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/own_file.h"
#include "similar/index/index_file.h"
#include "similar/index/record_file.h"
#include "similar/index/record_format.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>

namespace millrace::similar {
namespace {

constexpr std::string_view journal_mark = "millrace-journal";
static_assert(journal_mark.size() == mark_size);

// The intact records of a journal for `folder`.
struct Recovered {
  std::uint64_t offset = 0;  // end of the records; 0 if there is nothing to keep
  std::vector<IndexedImage> images;
};

Recovered recovered_from(std::span<const std::byte> file, const std::string& folder) {
  auto reader = RecordReader::open(file, journal_mark, index_version, "journal");
  if (!reader) return {};
  const auto first = reader->next();
  if (!first || !*first) return {};
  if (const auto its_folder = folder_from(**first); !its_folder || *its_folder != folder) return {};
  Recovered result{.offset = reader->offset()};
  for (;;) {
    const auto record = reader->next();
    if (!record || !*record) return result;
    auto image = image_from(**record);
    if (!image) return result;
    result.offset = reader->offset();
    result.images.push_back(std::move(*image));
  }
}

std::unexpected<Error> no_journal(const std::string& path, std::string_view what) {
  return usage_error("'{}' is {}, not a journal of this program; move it away or name another index with -o",
                     path, what);
}

}  // namespace

Result<Journal> Journal::open(const std::string& index_path, const std::string& folder) {
  const std::string path = index_path + ".journal";
  for (;;) {
    auto file = open_own_file(path, O_RDWR | O_CREAT);
    if (!file && file.error().kind == NotOwnFile::Kind::unusable)
      return failure("cannot write '{}': {}", path, system_reason(file.error().error));
    if (!file) return no_journal(path, reason_of(file.error()));
    if (flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        return failure("'{}' is being written by another run; wait for it", index_path);
      return failure("cannot lock '{}': {}", path, system_reason(errno));
    }
    Journal journal(path, *std::move(file));
    // The previous run may have deleted the file between the two calls.
    if (!journal.has_its_name()) continue;
    if (Status recovered = journal.recover(folder); !recovered) return std::unexpected(recovered.error());
    return journal;
  }
}

bool Journal::has_its_name() const {
  struct stat ours{};
  struct stat named{};
  return fstat(file_.get(), &ours) == 0 && lstat(path_.c_str(), &named) == 0 && named.st_ino == ours.st_ino &&
         named.st_dev == ours.st_dev;
}

Status Journal::recover(const std::string& folder) {
  const auto bytes = read_record_file(file_.get(), path_, journal_mark);
  if (!bytes) return std::unexpected(bytes.error());
  // A run that filled the disk may have written part of the mark.
  const std::size_t known = std::min(bytes->size(), mark_size);
  if (!std::ranges::equal(std::span(*bytes).first(known),
                          std::as_bytes(std::span(journal_mark)).first(known)))
    return no_journal(path_, "another file");
  Recovered recovered = recovered_from(*bytes, folder);
  images_ = std::move(recovered.images);
  offset_ = recovered.offset;
  if (ftruncate(file_.get(), static_cast<off_t>(offset_)) != 0 || lseek(file_.get(), 0, SEEK_END) < 0)
    return failure("cannot write '{}': {}", path_, system_reason(errno));
  if (offset_ > 0) return {};
  std::vector<std::byte> start = file_start(journal_mark, index_version);
  const auto record =
      record_bytes(start.size(), static_cast<std::uint32_t>(RecordKind::folder), folder_payload(folder));
  start.insert(start.end(), record.begin(), record.end());
  if (const int error = write_all(file_.get(), start).error; error != 0)
    return failure("cannot write '{}': {}", path_, system_reason(error));
  offset_ = start.size();
  return {};
}

Status Journal::append(const IndexedImage& image) {
  const auto record =
      record_bytes(offset_, static_cast<std::uint32_t>(RecordKind::image), image_payload(image));
  if (const int error = write_all(file_.get(), record).error; error != 0)
    return failure("cannot write '{}': {}", path_, system_reason(error));
  offset_ += record.size();
  return {};
}

void Journal::remove() {
  if (has_its_name()) unlink(path_.c_str());
}

}  // namespace millrace::similar
