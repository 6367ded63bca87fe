#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/run/batch/kept_record.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace {

// Names of files flushed to disk, and a hook before each flush.
std::vector<std::string> synced;
std::function<void()> before_sync;

}  // namespace

// Replaces the system's fsync, to observe flushes without using the disk.
extern "C" int fsync(int descriptor) {
  if (before_sync) {
    before_sync();
    synced.push_back(std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor)));
  }
  return 0;
}

namespace millrace::run {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class KeptRecordTest : public ::testing::Test {
 protected:
  KeptRecordTest() {
    make_file(folder_ / "in.mp4", "input");
    make_file(folder_ / "out.mkv", "output");
  }

  [[nodiscard]] JobIdentity identity() const {
    return {.settings = "blur",
            .program = "millrace 1, libcodec 3",
            .input = folder_ / "in.mp4",
            .input_stamp = stamp_of(folder_ / "in.mp4")};
  }
  void note_done() {
    KeptRecord record(folder_.path());
    ASSERT_TRUE(record.note_begun("out.mkv", identity()));
    ASSERT_TRUE(record.note_done("out.mkv", identity(), 12));
  }
  [[nodiscard]] KeptVerdict verdict() const { return verdict(identity()); }
  [[nodiscard]] KeptVerdict verdict(const JobIdentity& identity) const {
    return verdict("out.mkv", identity);
  }
  [[nodiscard]] KeptVerdict verdict(const std::string& name, const JobIdentity& identity) const {
    KeptRecord record(folder_.path());
    const Status read = record.read();
    EXPECT_TRUE(read) << read.error().message;
    return record.verdict(name, identity);
  }
  // Content of the record after one job.
  [[nodiscard]] std::string content_after_noting() {
    note_done();
    return content_of(folder_ / kept_record_name);
  }
  void set_time(const std::string& name, int seconds) const {
    std::filesystem::last_write_time(folder_ / name,
                                     std::filesystem::file_time_type(std::chrono::seconds(seconds)));
  }

  TemporaryFolder folder_;
};

TEST_F(KeptRecordTest, KnowsWhatWasDone) {
  EXPECT_EQ(verdict().kept, Kept::unknown);
  note_done();
  EXPECT_EQ(verdict().kept, Kept::done);
  EXPECT_EQ(verdict().frames, 12);
  EXPECT_EQ(verdict("other.mkv", identity()).kept, Kept::unknown);
}

TEST_F(KeptRecordTest, WhatWasOnlyBegunIsDoneAgain) {
  note_done();
  ASSERT_TRUE(KeptRecord(folder_.path()).note_begun("out.mkv", identity()));
  EXPECT_EQ(verdict().kept, Kept::again);
  EXPECT_THAT(verdict().why, HasSubstr("not completed"));
}

TEST_F(KeptRecordTest, AChangedInputIsDoneAgain) {
  note_done();
  set_time("in.mp4", 1'000'000);
  EXPECT_EQ(verdict().kept, Kept::again);
  EXPECT_THAT(verdict().why, HasSubstr("input has changed"));
}

TEST_F(KeptRecordTest, OtherSettingsOrAnotherInputAreDoneAgain) {
  note_done();
  JobIdentity other = identity();
  other.settings = "blur(2)";
  EXPECT_THAT(verdict(other).why, HasSubstr("options"));
  other = identity();
  other.input += "x";
  EXPECT_THAT(verdict(other).why, HasSubstr("another input"));
  other = identity();
  other.program = "millrace 1, libcodec 4";
  EXPECT_THAT(verdict(other).why, HasSubstr("another version"));
  other = identity();
  ++other.input_stamp->changed_ns;
  EXPECT_THAT(verdict(other).why, HasSubstr("input has changed"));
  other.input_stamp.reset();
  EXPECT_THAT(verdict(other).why, HasSubstr("nobody can tell"));
}

TEST_F(KeptRecordTest, AnOutputThatWasTouchedIsReadAndOneThatWasChangedIsDoneAgain) {
  note_done();
  set_time("out.mkv", 1'000'000);
  EXPECT_EQ(verdict().kept, Kept::done);
  make_file(folder_ / "out.mkv", "outpuT");
  set_time("out.mkv", 2'000'000);  // files written within one tick have the same time on many systems
  EXPECT_EQ(verdict().kept, Kept::again);
  make_file(folder_ / "out.mkv", "outpu");
  EXPECT_EQ(verdict().kept, Kept::again);
  std::filesystem::remove(folder_ / "out.mkv");
  EXPECT_THAT(verdict().why, HasSubstr("gone"));
}

TEST_F(KeptRecordTest, LinesThatAreTornOrOfOthersArePassedOver) {
  const std::string path = folder_ / kept_record_name;
  make_file(
      path,
      "no json\n{\"version\": 99, \"output\": \"out.mkv\"}\n{\"version\": 1}\n[]\n\n{\"version\": 1, \"outp");
  EXPECT_EQ(verdict().kept, Kept::unknown);
  note_done();  // on a line of its own after the incomplete one
  EXPECT_EQ(verdict().kept, Kept::done);
}

TEST_F(KeptRecordTest, TakesNamesOfAnyBytes) {
  const std::string name = "\xff\xfe\n.mkv";
  make_file(folder_ / name, "x");
  KeptRecord record(folder_.path());
  ASSERT_TRUE(record.note_done(name, identity(), 1));
  EXPECT_EQ(verdict(name, identity()).kept, Kept::done);
}

TEST_F(KeptRecordTest, IsNotedByManyThreadsAndRecordsAtOnce) {
  KeptRecord first(folder_.path());
  KeptRecord second(folder_.path());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          const std::string name = fmt::format("{}-{}", t, i);
          make_file(folder_ / name, name);
          EXPECT_TRUE((t % 2 == 0 ? first : second).note_done(name, identity(), i));
        }
      });
    }
  }
  KeptRecord read(folder_.path());
  ASSERT_TRUE(read.read());
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 25; ++i)
      EXPECT_EQ(read.verdict(fmt::format("{}-{}", t, i), identity()).frames, i);
}

TEST_F(KeptRecordTest, AFolderThatCannotBeWrittenIsNamed) {
  KeptRecord record(folder_ / "missing");
  EXPECT_TRUE(record.read());
  const Status noted = record.note_begun("out.mkv", identity());
  ASSERT_FALSE(noted);
  EXPECT_THAT(noted.error().message, HasSubstr("missing"));
}

TEST_F(KeptRecordTest, WhatIsNoFileIsNeitherReadNorWritten) {
  const std::string path = folder_ / kept_record_name;
  for (const bool pipe : {false, true}) {
    ASSERT_EQ(pipe ? mkfifo(path.c_str(), 0600) : mkdir(path.c_str(), 0700), 0);
    KeptRecord record(folder_.path());
    for (const Status& refused : {record.read(), record.note_begun("out.mkv", identity())}) {
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr(kept_record_name));
    }
    std::filesystem::remove(path);
  }
}

// What another user who may write to the folder can put in the record's place.
class PlantedRecord : public KeptRecordTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void plant() {
    const std::string path = folder_ / kept_record_name;
    const std::string what = GetParam();
    // A line that would make the output ours to overwrite.
    ASSERT_TRUE(KeptRecord(folder_.path()).note_begun("out.mkv", identity()));
    std::filesystem::rename(path, victim_);
    if (what == "link") std::filesystem::create_symlink(victim_, path);
    if (what == "dangling link") std::filesystem::create_symlink(folder_ / "nothing", path);
    if (what == "hard link") std::filesystem::create_hard_link(victim_, path);
    if (what != "file of another user") return;
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
    std::filesystem::copy_file(victim_, path);
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  }
  std::string victim_ = folder_ / "victim";
};

TEST_P(PlantedRecord, IsNeitherReadNorWritten) {
  plant();
  if (IsSkipped() || HasFatalFailure()) return;
  const std::string path = folder_ / kept_record_name;
  const std::string before = content_of(victim_);
  KeptRecord record(folder_.path());
  const auto claim = record.claim("out.mkv");
  ASSERT_FALSE(claim);
  for (const Status& refused :
       {record.check(), record.read(), record.note_begun("out.mkv", identity()),
        record.note_done("out.mkv", identity(), 12), Status(std::unexpected(claim.error()))}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr(path + ": is a "));
  }
  EXPECT_EQ(record.verdict("out.mkv", identity()).kept, Kept::unknown);
  EXPECT_EQ(content_of(victim_), before);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nothing"));
}

INSTANTIATE_TEST_SUITE_P(KeptRecord, PlantedRecord,
                         ::testing::Values("link", "dangling link", "hard link", "file of another user"));

// A batch that is resumed every night.
TEST_F(KeptRecordTest, DoesNotGrowWithoutEnd) {
  const std::string path = folder_ / kept_record_name;
  std::string old = "{\"version\": 99, \"of\": \"a later version\"}\nno json\n";
  const std::string line = content_after_noting();
  for (int night = 0; night < 300; ++night)
    old += line;
  make_file(path, old);
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  note_done();
  EXPECT_EQ(verdict().frames, 12);
  EXPECT_LT(std::ranges::count(content_of(path), '\n'), 10);
  EXPECT_THAT(content_of(path), HasSubstr("a later version"));
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & ALLPERMS, 0640U);
  EXPECT_EQ(folder_.entries(), 3U) << "nothing temporary is left";
}

TEST_F(KeptRecordTest, NothingIsLostWhereItIsCompactedWhileOthersNote) {
  const std::string line = content_after_noting();
  std::string old;
  for (int i = 0; i < 200; ++i)
    old += line;
  make_file(folder_ / kept_record_name, old);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const std::string name = fmt::format("{}-{}", t, i);
          make_file(folder_ / name, name);
          // Each iteration is another batch, which reads the existing record.
          EXPECT_TRUE(KeptRecord(folder_.path()).note_done(name, identity(), i));
        }
      });
    }
  }
  EXPECT_LT(content_of(folder_ / kept_record_name).size(), old.size());
  EXPECT_EQ(verdict().kept, Kept::done);
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(verdict(fmt::format("{}-{}", t, i), identity()).kept, Kept::done) << t << ' ' << i;
}

TEST_F(KeptRecordTest, WhatIsDoneIsOnTheDiskBeforeItIsNoted) {
  const std::string path = folder_ / kept_record_name;
  synced.clear();
  before_sync = [&] { EXPECT_THAT(content_of(path), Not(HasSubstr("\"complete\":true"))); };
  note_done();
  before_sync = nullptr;
  EXPECT_THAT(content_of(path), HasSubstr("\"complete\":true"));
  EXPECT_THAT(synced, IsSupersetOf({folder_ / "out.mkv", folder_.path().string(), path}));
}

TEST_F(KeptRecordTest, AnOutputIsMadeByOneAtATime) {
  KeptRecord first(folder_.path());
  KeptRecord second(folder_.path());
  ASSERT_TRUE(second.read());
  {
    const auto claimed = first.claim("out.mkv");
    ASSERT_TRUE(claimed) << claimed.error().message;
    for (KeptRecord* record : {&first, &second}) {
      const auto refused = record->claim("out.mkv");
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr("out.mkv: another batch is making it"));
      EXPECT_TRUE(record->claim("other.mkv"));
      EXPECT_TRUE(record->note_begun("other.mkv", identity()));
    }
    EXPECT_TRUE(first.note_done("out.mkv", identity(), 12));
  }
  EXPECT_EQ(second.verdict("out.mkv", identity()).kept, Kept::unknown);
  EXPECT_TRUE(second.claim("out.mkv"));
  EXPECT_EQ(second.verdict("out.mkv", identity()).kept, Kept::done) << "what it has learnt with the claim";
}

TEST_F(KeptRecordTest, IsNotReplacedUnderAClaim) {
  std::string old;
  const std::string line = content_after_noting();
  for (int i = 0; i < 200; ++i)
    old += line;
  KeptRecord first(folder_.path());
  {
    const auto claimed = first.claim("out.mkv");
    ASSERT_TRUE(claimed);
    make_file(folder_ / kept_record_name, old);
    note_done();
    EXPECT_GT(content_of(folder_ / kept_record_name).size(), old.size());
    EXPECT_FALSE(KeptRecord(folder_.path()).claim("out.mkv"));
  }
  // When the next batch begins.
  EXPECT_TRUE(KeptRecord(folder_.path()).claim("out.mkv"));
  EXPECT_LT(content_of(folder_ / kept_record_name).size(), old.size());
  EXPECT_EQ(verdict().kept, Kept::done);
}

TEST_F(KeptRecordTest, AComparisonOfAllBytesCanBeStopped) {
  note_done();
  set_time("out.mkv", 1'000'000);
  KeptRecord record(folder_.path());
  ASSERT_TRUE(record.read());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(record.verdict("out.mkv", identity(), stop.get_token()).kept, Kept::again);
}

}  // namespace
}  // namespace millrace::run
