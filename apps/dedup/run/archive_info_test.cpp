#include "dedup/archive/archive_info.h"
#include "dedup/archive/version1_testing.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/run/pack.h"
#include "dedup/run/unpack.h"
#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/pool/serial_team.h"

#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

using testing::HasSubstr;

struct Packed {
  PackOutcome outcome;
  Bytes archive;
};

Packed packed_archive(const Bytes& stream, const Compression& compression = {}) {
  PiecewiseSource source(stream);
  MemoryFile archive;
  pool::SerialTeam team;
  PackOutcome outcome = pack(source, archive, team, {.compression = compression, .chunks = small_chunks()});
  EXPECT_TRUE(outcome.status);
  return {std::move(outcome), std::move(archive.bytes)};
}

class ArchiveInfos : public testing::Test {
 protected:
  Result<ArchiveInfo> of_file(const Bytes& archive) {
    const std::string path = folder_ / "archive";
    EXPECT_TRUE(write_whole(path, archive, {.overwrite = Overwrite::yes, .durable = false}));
    return archive_info(*InputFile::open(path).value());
  }
  static Result<ArchiveInfo> of_pipe(const Bytes& archive) {
    auto pipe = make_pipe();
    EXPECT_TRUE(pipe);
    std::thread writer([&, end = std::move(pipe->write_end)]() mutable {
      static_cast<void>(OutputFile(std::move(end), "pipe").write(archive));
    });
    InputFile input(std::move(pipe->read_end), "pipe");
    auto info = archive_info(input);
    while (!read_whole(input).value_or(Bytes{}).empty()) {
    }
    writer.join();
    return info;
  }
  TemporaryFolder folder_;
};

TEST_F(ArchiveInfos, TellWhatPackingDid) {
  for (const NamedStream& stream : streams(400'000)) {
    for (const Compression compression : {Compression{}, Compression{Method::stored, 0}}) {
      const Packed made = packed_archive(stream.bytes, compression);
      for (const auto& info : {of_file(made.archive), of_pipe(made.archive)}) {
        ASSERT_TRUE(info) << stream.name << ": " << info.error().message;
        EXPECT_EQ(info->header.method, compression.method);
        EXPECT_EQ(info->header.average_chunk, small_chunks().average);
        EXPECT_EQ(info->archive_bytes, made.archive.size());
        EXPECT_EQ(info->stream_bytes, stream.bytes.size());
        EXPECT_EQ(info->data_records, made.outcome.segments);
        EXPECT_EQ(info->references, made.outcome.copies);
        EXPECT_EQ(info->referenced_bytes, made.outcome.dedup.copied_bytes) << stream.name;
        // The overhead of an archive; see docs/dedup.md.
        EXPECT_EQ(info->payload_bytes, made.archive.size() - 32 - (40 + 16) * info->data_records - 32 - 64);
      }
    }
  }
}

// In version 1, a payload of 8 bytes makes a data record as long as a reference.
TEST_F(ArchiveInfos, TellShortDataFromReferences) {
  Version1Archive archive(1000);
  for (const Bytes& part :
       {random_bytes(8, 1), random_bytes(500, 2), random_bytes(8, 1), random_bytes(500, 2)})
    archive.add(part);
  const Bytes bytes = archive.finished();
  for (const auto& info : {of_file(bytes), of_pipe(bytes)}) {
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->header.version, 1);
    EXPECT_EQ(info->data_records, 2U);
    EXPECT_EQ(info->references, 2U);
    EXPECT_EQ(info->payload_bytes, 508U);
    EXPECT_EQ(info->referenced_bytes, 508U);
    EXPECT_EQ(info->stream_bytes, 1016U);
  }
}

TEST_F(ArchiveInfos, AreRefusedWhereTheArchiveIsCutOff) {
  const Packed made = packed_archive(joined({random_bytes(3000, 1), random_bytes(3000, 1)}));
  for (std::size_t size = 0; size < made.archive.size(); size += size < 200 ? 1 : 97) {
    const auto info =
        of_file({made.archive.begin(), made.archive.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_FALSE(info) << size;
    EXPECT_EQ(info.error().kind, ErrorKind::failure);
    EXPECT_THAT(info.error().message, testing::AnyOf(HasSubstr("cut off"), HasSubstr("too short")));
  }
}

TEST_F(ArchiveInfos, NeverTellSomethingElseOfADamagedArchive) {
  const Packed made = packed_archive(joined({random_bytes(3000, 1), random_bytes(3000, 1)}));
  const auto sound = of_file(made.archive).value();
  int refused = 0;
  for (std::size_t at = 0; at < made.archive.size();
       at += at < 64 || at + 300 > made.archive.size() ? 1 : 41) {
    Bytes altered = made.archive;
    altered[at] ^= std::byte{4};
    const auto info = of_file(altered);
    if (!info) {
      ++refused;
      EXPECT_EQ(info.error().kind, ErrorKind::failure);
      continue;
    }
    // Payloads, which it does not read, cannot mislead it.
    EXPECT_EQ(info->stream_bytes, sound.stream_bytes) << at;
    EXPECT_EQ(info->referenced_bytes, sound.referenced_bytes) << at;
    EXPECT_EQ(info->payload_bytes, sound.payload_bytes) << at;
  }
  EXPECT_GT(refused, 64);
}

// The limit is exact and holds for every way to restore; no byte beyond it is written.
TEST(UnpackLimit, EndsTheRunBeforeTheFirstByteTooMany) {
  const Bytes stream = joined({random_bytes(5000, 1), random_bytes(5000, 1), Bytes(20'000, std::byte{0})});
  const Packed made = packed_archive(stream);
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{9'999},
                                    std::uint64_t{stream.size() - 1}, std::uint64_t{stream.size()}}) {
    PiecewiseSource source(made.archive);
    MemoryFile output;
    pool::SerialTeam team;
    const UnpackOutcome outcome = unpack(source, output, team, {.restored = &output, .limit = limit});
    EXPECT_EQ(outcome.status.has_value(), limit >= stream.size()) << limit;
    EXPECT_LE(output.bytes.size(), limit);
    EXPECT_TRUE(std::ranges::equal(output.bytes, std::span(stream).first(output.bytes.size())));
    if (!outcome.status) {
      EXPECT_THAT(outcome.status.error().message, HasSubstr(fmt::format("the limit of {} bytes", limit)));
    }
  }
}

}  // namespace
}  // namespace millrace::dedup
