// Builds archives of version 1, which are still read but no longer written.
#pragma once

#include "dedup/archive/archive_format.h"
#include "dedup/archive/archive_writer.h"
#include "dedup/archive/codec.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/stream_hash.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace millrace::dedup {

class Version1Archive {
 public:
  explicit Version1Archive(std::uint32_t largest_content) {
    append(encode({.version = 1, .largest_content = largest_content, .average_chunk = 1024}));
  }
  // Adds a data record, or a reference to one with the same content.
  void add(const Bytes& content) {
    const auto known = std::ranges::find(data_, content, &Data::content);
    if (known == data_.end()) return add_data(content);
    add_reference(static_cast<std::size_t>(known - data_.begin()), 0, content);
  }
  void add_data(const Bytes& content) {
    Payload payload = *compressor_.compress(content);
    const auto size = static_cast<std::uint32_t>(content.size());
    data_.push_back({content, archive_.size(), stream_size_});
    note(content);
    append(encode(DataHeader{payload.method, size, static_cast<std::uint32_t>(payload.bytes.size()),
                             check_of(payload.bytes)},
                  archive_.size()));
    append(payload.bytes);
  }
  // Adds a reference to the content of data record number `data`, counted from 0, from `begin` on.
  void add_reference(std::size_t data, std::uint32_t begin, const Bytes& content) {
    note(content);
    append(encode(ReferenceHeader{static_cast<std::uint32_t>(content.size()), begin,
                                  data_.at(data).archive_offset, data_.at(data).stream_offset},
                  archive_.size()));
    ++references_;
  }
  Bytes finished() {
    const std::uint64_t index_offset = archive_.size();
    const auto entries = encode(std::span<const IndexEntry>(index_));
    append(encode(IndexHeader{index_.size(), check_of(entries)}, index_offset));
    append(entries);
    append(encode(EndHeader{.index_offset = index_offset,
                            .stream_size = stream_size_,
                            .data_records = data_.size(),
                            .references = references_,
                            .stream_check = hash_.value()},
                  archive_.size()));
    return std::move(archive_);
  }

 private:
  struct Data {
    Bytes content;
    std::uint64_t archive_offset;
    std::uint64_t stream_offset;
  };
  void append(std::span<const std::byte> bytes) {
    archive_.insert(archive_.end(), bytes.begin(), bytes.end());
  }
  void note(const Bytes& content) {
    index_.push_back({stream_size_, archive_.size()});
    stream_size_ += content.size();
    hash_.add(content);
  }

  Bytes archive_;
  Compressor compressor_{Compression{}};
  std::vector<Data> data_;
  std::vector<IndexEntry> index_;
  std::uint64_t stream_size_ = 0;
  std::uint64_t references_ = 0;
  StreamHash hash_;
};

}  // namespace millrace::dedup
