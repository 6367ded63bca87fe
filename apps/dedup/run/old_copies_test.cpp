// Tests of archives whose copies come from many records that are no longer in memory.
#include "dedup/archive/archive_reader.h"
#include "dedup/archive/archive_writer.h"
#include "dedup/archive/version1_testing.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/stream_hash.h"
#include "dedup/run/restore_part.h"
#include "dedup/run/unpack.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/pool/serial_team.h"

#include <array>
#include <fstream>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

constexpr std::uint32_t old_size = 20'000;
constexpr std::size_t old_records = 40;
constexpr std::size_t many_copies = 4000;
constexpr std::uint32_t copy_size = 40;

// Builds an archive of version 2, piece by piece.
class Version2Archive {
 public:
  Version2Archive() { EXPECT_TRUE(writer_.begin({.largest_content = 1 << 20, .average_chunk = 1024})); }
  // Adds a segment with these pieces. Their literals are those of `literals`.
  void add(const std::vector<Piece>& pieces, const Bytes& literals) {
    Bytes content;
    std::uint32_t copies = 0;
    std::size_t taken = 0;
    for (const Piece& piece : pieces) {
      content.insert(content.end(), literals.begin() + static_cast<std::ptrdiff_t>(taken),
                     literals.begin() + static_cast<std::ptrdiff_t>(taken + piece.literals));
      taken += piece.literals;
      for (std::uint32_t i = 0; i < piece.copy; ++i)
        content.push_back(piece.source + i < stream.size() ? stream[piece.source + i]
                                                           : content[piece.source + i - stream.size()]);
      copies += piece.copy > 0 ? 1 : 0;
    }
    Segment segment{.stream_offset = stream.size(), .pieces = pieces, .copies = copies};
    segment.fragment.bytes = content;
    EXPECT_TRUE(writer_.add(*packed(segment, literals, compressor_)));
    stream.insert(stream.end(), content.begin(), content.end());
  }
  Bytes finished() {
    StreamHash hash;
    hash.add(stream);
    EXPECT_TRUE(writer_.finish(hash.value()));
    return std::move(file_.bytes);
  }
  Bytes stream;

 private:
  MemoryFile file_;
  ArchiveWriter writer_{file_};
  Compressor compressor_{Compression{}};
};

struct ArchiveOfCopies {
  Bytes stream;
  Bytes archive;
};

// Copies from one old record after the other, as many as an attacker likes.
enum class CopyKind { one_record, record_each, record_each_and_new_ones, references };
constexpr std::array copy_kinds{CopyKind::one_record, CopyKind::record_each,
                                CopyKind::record_each_and_new_ones, CopyKind::references};

std::uint64_t source_of(std::size_t copy) {
  return copy % old_records * old_size + copy / old_records % (old_size - copy_size);
}

ArchiveOfCopies archive_of_copies(CopyKind kind) {
  const auto old_content = [](std::size_t i) {
    return random_bytes(old_size, static_cast<std::uint32_t>(i));
  };
  if (kind == CopyKind::references) {
    Version1Archive archive(old_size);
    Bytes stream;
    for (std::size_t i = 0; i < old_records; ++i) {
      archive.add_data(old_content(i));
      stream = joined({stream, old_content(i)});
    }
    for (std::size_t i = 0; i < many_copies; ++i) {
      const auto from = stream.begin() + static_cast<std::ptrdiff_t>(source_of(i));
      const Bytes content(from, from + copy_size);
      archive.add_reference(i % old_records, static_cast<std::uint32_t>(source_of(i) % old_size), content);
      stream.insert(stream.end(), content.begin(), content.end());
    }
    return {stream, archive.finished()};
  }
  Version2Archive archive;
  for (std::size_t i = 0; i < old_records; ++i)
    archive.add({{.literals = old_size}}, old_content(i));
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < many_copies; ++i) {
    const Piece piece{.literals = 0, .copy = copy_size, .source = source_of(i)};
    if (kind == CopyKind::one_record)
      pieces.push_back(piece);
    else
      archive.add({piece}, {});
    if (kind == CopyKind::record_each_and_new_ones) archive.add({{.literals = 1}}, Bytes(1));
  }
  if (!pieces.empty()) archive.add(pieces, {});
  Bytes stream = archive.stream;
  return {std::move(stream), archive.finished()};
}

// Counts what is read, and stops a run after so much.
class CountedFile final : public RandomBytes {
 public:
  explicit CountedFile(std::span<const std::byte> bytes) : file_(bytes) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> destination) override {
    read += destination.size();
    if (stop_after && read > *stop_after) stop.request_stop();
    return file_.read_at(offset, destination);
  }
  std::uint64_t read = 0;
  std::optional<std::uint64_t> stop_after;
  std::stop_source stop;

 private:
  MemoryFile file_;
};

// That part of the stream, restored from a file.
Bytes part_of(const Bytes& archive, std::uint64_t from, std::uint64_t count) {
  const TemporaryFolder folder;
  make_file(folder / "archive", {reinterpret_cast<const char*>(archive.data()), archive.size()});
  const auto file = InputFile::open(folder / "archive");
  MemoryFile output;
  const PartOutcome outcome =
      restore_part(**file, output, {.from = from, .bytes = count, .kept_bytes = 0}, {});
  EXPECT_TRUE(outcome.status) << outcome.status.error().message;
  return output.bytes;
}

// What this process has read from files so far.
std::uint64_t read_so_far() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  std::uint64_t count = 0;
  while (counters >> name >> count)
    if (name == "rchar:") return count;
  ADD_FAILURE() << "/proc/self/io has no rchar";
  return 0;
}

class OldRecords : public testing::TestWithParam<CopyKind> {};

TEST_P(OldRecords, are_restored_once_for_all_copies_that_wait_for_them) {
  const auto [stream, archive] = archive_of_copies(GetParam());
  PiecewiseSource source(archive);
  CountedFile file(archive);
  MemoryFile output;
  pool::SerialTeam team;
  const UnpackOutcome outcome = unpack(source, output, team, {.archive = &file, .kept_bytes = 0});
  ASSERT_TRUE(outcome.status) << outcome.status.error().message;
  EXPECT_TRUE(output.bytes == stream);
  EXPECT_EQ(outcome.stream_bytes, stream.size());
  EXPECT_LE(file.read, 2 * archive.size());
}

TEST_P(OldRecords, are_restored_once_for_all_copies_in_a_part) {
  const auto [stream, archive] = archive_of_copies(GetParam());
  const std::uint64_t from = old_records * old_size + 17;
  const std::uint64_t before = read_so_far();
  const Bytes part = part_of(archive, from, stream.size() - from);
  EXPECT_LE(read_so_far() - before, 3 * archive.size());
  EXPECT_TRUE(part == Bytes(stream.begin() + static_cast<std::ptrdiff_t>(from), stream.end()));
}

TEST_P(OldRecords, are_restored_no_further_after_a_stop) {
  const auto [stream, archive] = archive_of_copies(GetParam());
  PiecewiseSource source(archive);
  CountedFile file(archive);
  file.stop_after = 2 * old_size;
  MemoryFile output;
  pool::SerialTeam team;
  UnpackOptions options{.archive = &file, .kept_bytes = 0};
  options.run.stop = file.stop.get_token();
  const UnpackOutcome outcome = unpack(source, output, team, options);
  ASSERT_FALSE(outcome.status);
  EXPECT_EQ(outcome.status.error().kind, ErrorKind::interrupted);
  EXPECT_LE(file.read, 4 * old_size);
}

INSTANTIATE_TEST_SUITE_P(kinds, OldRecords, testing::ValuesIn(copy_kinds));

// Any archive whose sources are new bytes is restored, however its copies lie.
TEST(OldCopies, restore_random_archives_from_the_archive_alone) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return static_cast<std::uint32_t>(random() % bound); };
    Version2Archive archive;
    std::vector<bool> is_new;
    for (std::size_t i = 0; i < 60; ++i) {
      std::vector<Piece> pieces;
      std::uint32_t new_bytes = 0;
      for (std::uint32_t n = 1 + below(6); n > 0; --n) {
        Piece piece{.literals = 1 + below(300)};
        new_bytes += piece.literals;
        is_new.insert(is_new.end(), piece.literals, true);
        piece.source = below(is_new.size());
        while (piece.source + piece.copy < is_new.size() && piece.copy < 200 &&
               is_new[piece.source + piece.copy])
          ++piece.copy;
        is_new.insert(is_new.end(), piece.copy, false);
        pieces.push_back(piece);
        if (piece.copy > 0) continue;
        pieces.back().source = 0;
        break;
      }
      archive.add(pieces, random_bytes(new_bytes, seed * 100 + static_cast<std::uint32_t>(i)));
    }
    const Bytes stream = archive.stream;
    const Bytes bytes = archive.finished();
    for (const std::size_t kept : {std::size_t{0}, std::size_t{3} << 20}) {
      PiecewiseSource source(bytes);
      MemoryFile file(bytes);
      MemoryFile output;
      pool::SerialTeam team;
      const UnpackOutcome outcome = unpack(source, output, team, {.archive = &file, .kept_bytes = kept});
      ASSERT_TRUE(outcome.status) << seed << ": " << outcome.status.error().message;
      ASSERT_TRUE(output.bytes == stream) << seed;
    }
    const std::uint64_t from = below(stream.size());
    const std::uint64_t count = below(stream.size() - from + 1);
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(from);
    ASSERT_TRUE(part_of(bytes, from, count) == Bytes(begin, begin + static_cast<std::ptrdiff_t>(count)))
        << seed;
  }
}

// A failure behind records that wait still leaves a file with all that was right.
TEST(OldCopies, that_wait_are_written_before_a_damaged_record_ends_the_run) {
  const auto [stream, archive] = archive_of_copies(CopyKind::record_each);
  Bytes altered = archive;
  altered[altered.size() - 100] ^= std::byte{1};  // in the index
  PiecewiseSource source(altered);
  MemoryFile file(altered);
  MemoryFile output;
  pool::SerialTeam team;
  const UnpackOutcome outcome = unpack(source, output, team, {.archive = &file, .kept_bytes = 0});
  ASSERT_FALSE(outcome.status);
  EXPECT_TRUE(output.bytes == stream);
}

}  // namespace
}  // namespace millrace::dedup
