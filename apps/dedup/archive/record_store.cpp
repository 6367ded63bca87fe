#include "dedup/archive/record_store.h"

#include "dedup/archive/archive_format.h"
#include "dedup/archive/codec.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::dedup {

RecordStore::RecordStore(RandomBytes& archive, std::string name, std::uint32_t largest_content)
    : archive_(&archive), name_(std::move(name)), largest_content_(largest_content) {}

// Several threads may load the same content at once; all but one load is wasted, which is rare.
Result<RecordStore::Content> RecordStore::content_at(std::uint64_t archive_offset, std::uint64_t number) {
  if (Content kept = find(archive_offset)) return kept;
  Result<Content> loaded = load(archive_offset, number);
  if (!loaded) return loaded;
  const std::lock_guard lock(mutex_);
  // Looked for one by one, so not many either.
  constexpr std::size_t most_kept = 8;
  kept_.push_front({archive_offset, *loaded});
  kept_bytes_ += (*loaded)->size();
  while (kept_.size() > 1 && (kept_.size() > most_kept || kept_bytes_ > most_kept_bytes)) {
    kept_bytes_ -= kept_.back().content->size();
    kept_.pop_back();
  }
  return loaded;
}

RecordStore::Content RecordStore::find(std::uint64_t archive_offset) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::ranges::find(kept_, archive_offset, &Kept::archive_offset);
  if (kept == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), kept, kept + 1);
  return kept_.front().content;
}

Result<RecordStore::Content> RecordStore::load(std::uint64_t archive_offset, std::uint64_t number) {
  const auto refused = [&](const std::string& what) {
    return failure("{}: damaged at byte {} (needed by record {}): {}; take another copy of the archive",
                   name_, archive_offset, number, what);
  };
  std::array<std::byte, DataHeader::size> bytes{};
  if (Status read = archive_->read_at(archive_offset, bytes); !read) return std::unexpected(read.error());
  const auto size = record_header_size(bytes.front());
  if (!size || *size != bytes.size()) return refused("it holds no data");
  const auto header = decode_record_header(bytes, archive_offset, largest_content_);
  if (!header) return refused(header.error().message);
  const auto& data = std::get<DataHeader>(*header);
  std::vector<std::byte> payload(data.payload_size);
  if (Status read = archive_->read_at(archive_offset + DataHeader::size, payload); !read)
    return std::unexpected(read.error());
  if (check_of(payload) != data.payload_check) return refused("its payload does not match its check");
  std::vector<std::byte> content(data.content_size);
  if (Status restored = decompress(data.method, payload, content); !restored)
    return refused(restored.error().message);
  return std::make_shared<const std::vector<std::byte>>(std::move(content));
}

}  // namespace millrace::dedup
