#include "millrace/base/temporary_folder_testing.h"
#include "millrace/run/batch/kept_record.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

class KeptRecordTest : public ::testing::Test {
 protected:
  KeptRecordTest() {
    make_file(folder_ / "in.mp4", "input");
    make_file(folder_ / "out.mkv", "output");
  }

  [[nodiscard]] JobIdentity identity() const {
    return {.settings = "blur", .input = folder_ / "in.mp4", .input_stamp = stamp_of(folder_ / "in.mp4")};
  }
  void note_done() {
    KeptRecord record(folder_.path());
    ASSERT_TRUE(record.note_begun("out.mkv", identity()));
    ASSERT_TRUE(record.note_done("out.mkv", identity(), 12));
  }
  [[nodiscard]] KeptVerdict verdict() const { return verdict(identity()); }
  [[nodiscard]] KeptVerdict verdict(const JobIdentity& identity) const {
    return KeptRecord(folder_.path()).verdict("out.mkv", identity);
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
  EXPECT_EQ(KeptRecord(folder_.path()).verdict("other.mkv", identity()).kept, Kept::unknown);
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
  other.input_stamp.reset();
  EXPECT_THAT(verdict(other).why, HasSubstr("input has changed"));
}

TEST_F(KeptRecordTest, AnOutputThatWasTouchedIsReadAndOneThatWasChangedIsDoneAgain) {
  note_done();
  set_time("out.mkv", 1'000'000);
  EXPECT_EQ(verdict().kept, Kept::done);
  make_file(folder_ / "out.mkv", "outpuT");
  set_time("out.mkv", 2'000'000);  // files that are written within a tick have the same time on many systems
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
  note_done();  // behind the torn line, on one of its own
  EXPECT_EQ(verdict().kept, Kept::done);
}

TEST_F(KeptRecordTest, TakesNamesOfAnyBytes) {
  const std::string name = "\xff\xfe\n.mkv";
  make_file(folder_ / name, "x");
  KeptRecord record(folder_.path());
  ASSERT_TRUE(record.note_done(name, identity(), 1));
  EXPECT_EQ(KeptRecord(folder_.path()).verdict(name, identity()).kept, Kept::done);
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
  const KeptRecord read(folder_.path());
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 25; ++i)
      EXPECT_EQ(read.verdict(fmt::format("{}-{}", t, i), identity()).frames, i);
}

TEST_F(KeptRecordTest, AFolderThatCannotBeWrittenIsNamed) {
  KeptRecord record(folder_ / "missing");
  const Status noted = record.note_begun("out.mkv", identity());
  ASSERT_FALSE(noted);
  EXPECT_THAT(noted.error().message, HasSubstr("missing"));
}

}  // namespace
}  // namespace millrace::run
