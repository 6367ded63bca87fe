// Tests of archives as files: restoring intact ones and refusing damaged ones.
#include "dedup/archive/archive_format.h"
#include "dedup/archive/archive_reader.h"
#include "dedup/archive/archive_writer.h"
#include "dedup/archive/record_store.h"
#include "dedup/archive/version1_testing.h"
#include "dedup/chunks/buffer_pool.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/stream_hash.h"
#include "dedup/run/pack.h"
#include "dedup/run/unpack.h"
#include "millrace/pool/serial_team.h"

#include <algorithm>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

// Source of the bytes of references; see UnpackOptions.
enum class References { restored, archive, temporary };

std::string name_of(References references) {
  switch (references) {
  case References::restored:
    return "restored";
  case References::archive:
    return "archive";
  case References::temporary:
    return "temporary";
  }
  return "";
}

struct Unpacked {
  UnpackOutcome outcome;
  Bytes bytes;
};

Unpacked unpacked(std::span<const std::byte> archive, References references,
                  std::size_t kept_bytes = RecordStore::least_kept_bytes) {
  PiecewiseSource source(archive);
  MemoryFile file(archive);
  MemoryFile output;
  pool::SerialTeam team;
  UnpackOptions options{.kept_bytes = kept_bytes};
  if (references == References::restored) options.restored = &output;
  if (references == References::archive) options.archive = &file;
  UnpackOutcome outcome = unpack(source, output, team, options);
  return {std::move(outcome), std::move(output.bytes)};
}

Bytes packed(const Bytes& stream, const Compression& compression = {}) {
  PiecewiseSource source(stream);
  MemoryFile archive;
  pool::SerialTeam team;
  const PackOutcome outcome =
      pack(source, archive, team, {.compression = compression, .chunks = small_chunks()});
  EXPECT_TRUE(outcome.status) << outcome.status.error().message;
  EXPECT_EQ(outcome.archive_bytes, archive.bytes.size());
  EXPECT_EQ(outcome.stream_bytes, stream.size());
  return archive.bytes;
}

// An archive of version 1 with data records of every method, references, the index and the end.
Bytes first_version(const std::vector<Bytes>& parts) {
  Version1Archive archive(content_limit);
  for (const Bytes& part : parts)
    archive.add(part);
  return archive.finished();
}

// Segments with literals and copies, stored and compressed.
Bytes small_stream() {
  const Bytes part = random_bytes(6000, 1);
  return joined({part, text_bytes(3000, 2), part, text_bytes(3000, 2), part, random_bytes(1500, 3)});
}

class Archives : public testing::TestWithParam<References> {};

// A stream and its archive, for tests of every kind of archive.
struct Sample {
  Bytes stream;
  Bytes archive;
};
std::vector<Sample> samples() {
  const std::vector<Bytes> parts{random_bytes(600, 1), text_bytes(1500, 2), random_bytes(600, 1),
                                 random_bytes(300, 3), text_bytes(1500, 2)};
  Bytes all;
  for (const Bytes& part : parts)
    all = joined({all, part});
  return {{small_stream(), packed(small_stream())}, {all, first_version(parts)}};
}

TEST_P(Archives, restore_what_was_packed) {
  for (const NamedStream& stream : streams(3'000'000))
    for (const Compression compression :
         {Compression{}, Compression{Method::zlib, 1}, Compression{Method::stored, 0}}) {
      const Bytes archive = packed(stream.bytes, compression);
      const Unpacked result = unpacked(archive, GetParam());
      ASSERT_TRUE(result.outcome.status) << stream.name << ": " << result.outcome.status.error().message;
      EXPECT_TRUE(result.bytes == stream.bytes) << stream.name;
      EXPECT_EQ(result.outcome.archive_bytes, archive.size());
    }
}

// However the archive is damaged, only correct bytes are restored.
void expect_refused(const Bytes& archive, References references, const Bytes& stream,
                    const std::string& what) {
  const Unpacked result = unpacked(archive, references);
  ASSERT_FALSE(result.outcome.status) << what;
  EXPECT_EQ(result.outcome.status.error().kind, ErrorKind::failure) << what;
  ASSERT_LE(result.bytes.size(), stream.size()) << what;
  if (result.bytes.empty()) return;
  EXPECT_EQ(std::memcmp(result.bytes.data(), stream.data(), result.bytes.size()), 0) << what;
}

#ifdef MILLRACE_SANITIZED
constexpr std::size_t step = 7;  // tests every seventh byte, because these builds are slow
#else
constexpr std::size_t step = 1;
#endif

TEST_P(Archives, are_refused_cut_off_at_any_byte) {
  for (const auto& [stream, archive] : samples()) {
    for (std::size_t size = 0; size < archive.size(); size += step) {
      expect_refused({archive.begin(), archive.begin() + static_cast<std::ptrdiff_t>(size)}, GetParam(),
                     stream, fmt::format("{} of {} bytes", size, archive.size()));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Archives, are_refused_with_any_byte_altered) {
  for (const auto& [stream, archive] : samples()) {
    std::mt19937 random(1);
    for (std::size_t at = 0; at < archive.size(); at += step) {
      Bytes altered = archive;
      altered[at] ^= static_cast<std::byte>(1U << random() % 8);
      expect_refused(altered, GetParam(), stream, fmt::format("byte {}", at));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Archives, are_refused_with_something_behind_the_end) {
  for (const auto& [stream, archive] : samples()) {
    expect_refused(joined({archive, Bytes(1)}), GetParam(), stream, "a byte more");
    expect_refused(joined({archive, archive}), GetParam(), stream, "twice");
  }
}

INSTANTIATE_TEST_SUITE_P(references, Archives,
                         testing::Values(References::restored, References::archive, References::temporary),
                         [](const auto& test) { return name_of(test.param); });

// The offsets of the records of an intact archive.
std::vector<std::size_t> record_offsets(const Bytes& archive) {
  std::vector<std::size_t> offsets;
  for (std::size_t at = ArchiveHeader::size; at < archive.size();) {
    offsets.push_back(at);
    const auto bytes = std::span(archive).subspan(at, record_header_size(archive[at]).value());
    const auto header = decode_record_header(bytes, at, content_limit).value();
    at += bytes.size();
    if (const auto* segment = std::get_if<SegmentHeader>(&header)) at += segment->payload_size();
    if (const auto* data = std::get_if<DataHeader>(&header)) at += data->payload_size;
    if (const auto* index = std::get_if<IndexHeader>(&header)) at += index->entries * IndexEntry::size;
  }
  return offsets;
}

TEST(Archive, has_records_of_every_kind_in_these_tests) {
  std::string types;
  std::string methods;
  std::uint32_t copies = 0;
  for (const Sample& sample : samples())
    for (const std::size_t at : record_offsets(sample.archive)) {
      types += static_cast<char>(sample.archive[at]);
      if (types.back() == 'D' || types.back() == 'S')
        methods += fmt::format("{}", std::to_integer<int>(sample.archive[at + 1]));
      if (types.back() == 'S') copies += std::to_integer<std::uint32_t>(sample.archive[at + 28]);
    }
  for (const char type : {'S', 'D', 'R', 'I', 'E'})
    EXPECT_NE(types.find(type), std::string::npos) << types;
  EXPECT_NE(methods.find('0'), std::string::npos) << methods;
  EXPECT_NE(methods.find('1'), std::string::npos) << methods;
  EXPECT_GT(copies, 0U);
}

TEST(Archive, of_version_1_is_restored_in_every_way) {
  const Sample sample = samples().back();
  for (const References references : {References::restored, References::archive, References::temporary}) {
    const Unpacked result = unpacked(sample.archive, references);
    ASSERT_TRUE(result.outcome.status) << result.outcome.status.error().message;
    EXPECT_EQ(result.bytes, sample.stream);
    EXPECT_EQ(result.outcome.references, 2U);
  }
}

// Copies of bytes outside the cache, with every way to get them.
TEST(Archive, is_restored_with_whatever_is_kept_of_it) {
  Bytes stream;
  for (std::uint32_t i = 0; i < 4; ++i)
    stream = joined({stream, random_bytes(1'200'000, i), text_bytes(500'000, 7)});
  stream = joined({stream, stream});
  for (std::size_t at = 100; at < stream.size(); at += 1300)
    stream[at] = std::byte{7};
  const Bytes archive = packed(stream);
  EXPECT_LT(archive.size(), 6'000'000U);
  for (const References references : {References::restored, References::archive, References::temporary})
    for (const std::size_t kept : {0U, 5U << 20}) {
      const Unpacked result = unpacked(archive, references, kept);
      ASSERT_TRUE(result.outcome.status) << result.outcome.status.error().message;
      EXPECT_TRUE(result.bytes == stream) << name_of(references) << ", kept " << kept;
    }
}

TEST(Archive, errors_name_the_byte_and_the_record) {
  for (const auto& [stream, archive] : samples()) {
    const std::vector<std::size_t> offsets = record_offsets(archive);
    for (std::size_t number = 0; number + 1 < offsets.size(); ++number) {
      Bytes altered = archive;
      altered[offsets[number] + 5] ^= std::byte{1};
      const auto damaged = unpacked(altered, References::restored).outcome.status.error().message;
      const std::string where =
          fmt::format("memory: damaged at byte {} (record {}):", offsets[number], number);
      EXPECT_EQ(damaged.substr(0, where.size()), where) << damaged;
      const std::size_t cut = offsets[number] + 9;
      const auto short_one =
          unpacked(Bytes(archive.begin(), archive.begin() + static_cast<std::ptrdiff_t>(cut)),
                   References::restored)
              .outcome.status.error()
              .message;
      const std::string there = fmt::format("memory: cut off at byte {}, in record {}", cut, number);
      EXPECT_EQ(short_one.substr(0, there.size()), there) << short_one;
    }
  }
}

TEST(Archive, is_refused_with_records_left_out_or_exchanged) {
  const Bytes part = random_bytes(5'000'000, 1);
  for (const Bytes& archive : {samples().back().archive, packed(joined({part, part}))}) {
    const std::vector<std::size_t> offsets = record_offsets(archive);
    for (std::size_t i = 0; i + 2 < offsets.size(); ++i) {
      const auto at = [&](std::size_t number) {
        return archive.begin() + static_cast<std::ptrdiff_t>(offsets[number]);
      };
      const Bytes left_out = joined({{archive.begin(), at(i)}, {at(i + 1), archive.end()}});
      EXPECT_FALSE(unpacked(left_out, References::archive).outcome.status) << i;
      const Bytes exchanged = joined(
          {{archive.begin(), at(i)}, {at(i + 1), at(i + 2)}, {at(i), at(i + 1)}, {at(i + 2), archive.end()}});
      EXPECT_FALSE(unpacked(exchanged, References::archive).outcome.status) << i;
    }
  }
}

// Every way to resolve references must be able to read their target again, which a reference does not allow.
TEST(Archive, is_refused_with_a_reference_to_a_reference) {
  const Bytes content = random_bytes(100, 1);
  Bytes archive;
  const auto append = [&archive](const auto& bytes) {
    archive.insert(archive.end(), bytes.begin(), bytes.end());
  };
  append(encode(
      {.version = 1, .largest_content = 1000, .average_chunk = 1024, .method = Method::zstd, .level = 3}));
  const std::uint64_t data_at = archive.size();
  append(encode(DataHeader{Method::stored, 100, 100, check_of(content)}, data_at));
  append(content);
  const std::uint64_t reference_at = archive.size();
  append(encode(ReferenceHeader{100, 0, data_at, 0}, reference_at));
  append(encode(ReferenceHeader{100, 0, reference_at, 100}, archive.size()));
  PiecewiseSource source(archive);
  ArchiveReader reader(source);
  ASSERT_TRUE(reader.begin());
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  const auto third = reader.next();
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().message.find("no earlier data record"), std::string::npos) << third.error().message;
}

// On a failing disk, the data of a reference can be damaged after it was read intact before.
TEST(Archive, is_refused_where_only_the_second_reading_fails) {
  for (const Bytes& archive :
       {first_version({random_bytes(5000, 1), text_bytes(2000, 2), random_bytes(5000, 1)}),
        packed(joined({random_bytes(4'500'000, 1), random_bytes(4'500'000, 1)}))}) {
    Bytes altered = archive;
    altered[ArchiveHeader::size + SegmentHeader::size + 100] ^= std::byte{1};
    PiecewiseSource source(archive);
    MemoryFile file(altered);
    MemoryFile output;
    pool::SerialTeam team;
    const UnpackOutcome outcome = unpack(source, output, team, {.archive = &file, .kept_bytes = 0});
    ASSERT_FALSE(outcome.status);
    EXPECT_NE(outcome.status.error().message.find("byte 32 "), std::string::npos)
        << outcome.status.error().message;
  }
}

// The source of a copy must be new bytes. Otherwise the archive alone could not restore it with one lookup.
TEST(Archive, is_refused_with_a_copy_of_a_copy_however_much_is_kept_where_only_the_archive_tells) {
  const Bytes content = random_bytes(100, 1);
  MemoryFile archive;
  ArchiveWriter writer(archive);
  ASSERT_TRUE(writer.begin({.largest_content = 1000, .average_chunk = 1024}));
  StreamHash hash;
  const auto add = [&](const Piece& piece, std::uint64_t at, std::span<const std::byte> literals) {
    Compressor compressor({Method::stored, 0});
    Segment segment{.stream_offset = at, .pieces = {piece}, .copies = piece.copy > 0 ? 1U : 0U};
    segment.fragment.bytes = content;  // every segment here has this size
    ASSERT_TRUE(writer.add(*packed(segment, literals, compressor)));
    hash.add(content);
  };
  add({.literals = 100}, 0, content);
  add({.copy = 100, .source = 0}, 100, {});
  add({.copy = 100, .source = 100}, 200, {});
  ASSERT_TRUE(writer.finish(hash.value()));
  const auto message = [&](References references, std::size_t kept) {
    const Unpacked result = unpacked(archive.bytes, references, kept);
    return result.outcome.status ? std::string() : result.outcome.status.error().message;
  };
  for (const References references : {References::archive, References::temporary})
    for (const std::size_t kept : {0, 1 << 20})
      EXPECT_NE(message(references, kept).find("(record 2): it copies bytes that are not new"),
                std::string::npos)
          << name_of(references) << ", kept " << kept;
  // The written stream still gives the right bytes.
  EXPECT_EQ(message(References::restored, 0), "");
  EXPECT_EQ(message(References::restored, 1 << 20), "");
}

TEST(Archive, is_refused_with_another_number_of_copies_than_its_recipes_have) {
  const Bytes content = random_bytes(100, 1);
  for (const std::uint32_t copies : {0U, 2U, 0xFFFFFFFFU}) {
    MemoryFile archive;
    ArchiveWriter writer(archive);
    ASSERT_TRUE(writer.begin({.largest_content = 1000, .average_chunk = 1024}));
    StreamHash hash;
    Compressor compressor({Method::stored, 0});
    Segment first{.stream_offset = 0, .pieces = {{.literals = 100}}};
    first.fragment.bytes = content;
    ASSERT_TRUE(writer.add(*packed(first, content, compressor)));
    Segment second{.stream_offset = 100, .pieces = {{.copy = 100, .source = 0}}, .copies = copies};
    second.fragment.bytes = content;
    ASSERT_TRUE(writer.add(*packed(second, {}, compressor)));
    hash.add(content);
    hash.add(content);
    ASSERT_TRUE(writer.finish(hash.value()));
    for (const References references : {References::restored, References::archive, References::temporary}) {
      const Unpacked result = unpacked(archive.bytes, references);
      ASSERT_FALSE(result.outcome.status) << copies;
      EXPECT_NE(result.outcome.status.error().message.find("(record 1)"), std::string::npos)
          << result.outcome.status.error().message;
    }
  }
}

// An archive of highly compressible `contents` of these sizes, and `references` to the first byte of the
// first.
Bytes crafted(const std::vector<std::uint32_t>& contents, std::size_t references) {
  Version1Archive archive(std::ranges::max(contents));
  for (const std::uint32_t size : contents)
    archive.add_data(Bytes(size, std::byte{7}));
  for (std::size_t i = 0; i < references; ++i)
    archive.add_reference(0, 0, Bytes(1, std::byte{7}));
  return archive.finished();
}

std::size_t allocated_bytes() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

// Records peak memory whenever more bytes are requested.
class WatchedSource final : public ByteSource {
 public:
  explicit WatchedSource(std::span<const std::byte> bytes) : source_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> destination) override {
    peak_ = std::max(peak_, allocated_bytes());
    return source_.read(destination);
  }
  const std::string& name() const override { return source_.name(); }
  [[nodiscard]] std::size_t peak() const { return peak_; }

 private:
  PiecewiseSource source_;
  std::size_t peak_ = 0;
};

TEST(ArchiveMemory, of_a_reader_is_17_bytes_a_record_and_what_is_read_ahead) {
  constexpr std::size_t records = 200'000;
  const Bytes archive = crafted({1000}, records - 1);
  WatchedSource source(archive);
  const std::size_t before = allocated_bytes();
  constexpr std::size_t read_ahead = 4096;
  ArchiveReader reader(source, {}, read_ahead);
  ASSERT_TRUE(reader.begin());
  std::size_t found = 0;
  for (;; ++found) {
    const auto record = reader.next();
    ASSERT_TRUE(record) << record.error().message;
    if (!*record) break;
  }
  EXPECT_EQ(found, records);
  EXPECT_LE(source.peak(), before + 17 * records + read_ahead + 200'000);
}

TEST(ArchiveMemory, of_contents_that_references_need_is_bounded_in_bytes) {
  constexpr std::uint32_t size = std::uint32_t{3} << 20;
  const Bytes archive = crafted({size, size, size, size, size, size, size, size, size, size}, 0);
  PiecewiseSource source(archive);
  ArchiveReader reader(source);
  ASSERT_TRUE(reader.begin());
  MemoryFile file(archive);
  RecordStore store(file, "memory", size);
  std::vector<std::weak_ptr<const RecordContent>> contents;
  for (;;) {
    const auto record = reader.next();
    ASSERT_TRUE(record) << record.error().message;
    if (!*record) break;
    contents.push_back(*store.content_at((*record)->archive_offset, 0, 0));
  }
  ASSERT_EQ(contents.size(), 10U);
  const auto kept = std::ranges::count_if(contents, [](const auto& content) { return !content.expired(); });
  EXPECT_EQ(kept, 5);  // of 3 MiB, in 16
  EXPECT_FALSE(contents.back().expired());
}

TEST(ArchiveMemory, of_one_content_larger_than_what_is_kept_is_kept_alone) {
  const Bytes archive = crafted({content_limit, 1, content_limit}, 0);
  MemoryFile file(archive);
  RecordStore store(file, "memory", content_limit);
  PiecewiseSource source(archive);
  ArchiveReader reader(source);
  ASSERT_TRUE(reader.begin());
  std::vector<std::weak_ptr<const RecordContent>> contents;
  while (contents.size() < 3)
    contents.push_back(*store.content_at((**reader.next()).archive_offset, 0, 0));
  EXPECT_TRUE(contents[0].expired());
  EXPECT_FALSE(contents[2].expired());
}

TEST(ArchiveMemory, of_a_record_counts_as_its_payload_and_its_content) {
  constexpr std::uint32_t size = 1 << 20;
  const Bytes archive = crafted({size}, 3);
  PiecewiseSource source(archive);
  MemoryFile file(archive);
  MemoryFile output;
  pool::SerialTeam team;
  UnpackOptions options{.archive = &file};
  options.run.tokens = 1;
  const UnpackOutcome outcome = unpack(source, output, team, options);
  ASSERT_TRUE(outcome.status) << outcome.status.error().message;
  EXPECT_GT(outcome.run.peak_bytes, std::size_t{size});
  EXPECT_LT(outcome.run.peak_bytes, std::size_t{size} + 1000);
}

TEST(ArchiveMemory, of_buffers_that_are_free_is_bounded) {
  constexpr std::size_t size = std::size_t{4} << 20;
  BufferPool pool(size, 2 * size);
  const std::size_t before = allocated_bytes();
  {
    std::vector<std::shared_ptr<std::byte[]>> used;
    for (int i = 0; i < 6; ++i)
      used.push_back(pool.get());
  }
  EXPECT_LE(allocated_bytes(), before + 2 * size + 100'000);
  const auto again = pool.get();
  EXPECT_LE(allocated_bytes(), before + 2 * size + 100'000);
}

}  // namespace
}  // namespace millrace::dedup
