#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/file/pending_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <cerrno>
#include <csignal>
#include <span>
#include <string_view>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace millrace {
namespace {

void write_text(const PendingFile& file, std::string_view text) {
  ASSERT_EQ(write_all(file.get(), std::as_bytes(std::span(text))).bytes, text.size());
}

class PendingFiles : public testing::TestWithParam<Pending> {
 protected:
  [[nodiscard]] PendingFile create() const {
    auto file = PendingFile::create(target_, GetParam());
    EXPECT_TRUE(file) << file.error();
    return *std::move(file);
  }

  TemporaryFolder folder_;
  std::string target_ = folder_ / "out";
};

TEST_P(PendingFiles, HaveTheirNameWhenPublishedAndNoOther) {
  PendingFile file = create();
  write_text(file, "all of it");
  EXPECT_FALSE(std::filesystem::exists(target_));
  EXPECT_EQ(file.publish(false), 0);
  EXPECT_EQ(content_of(target_), "all of it");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(PendingFiles, LeaveNothingWithoutThat) {
  {
    write_text(create(), "some of it");
  }
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_P(PendingFiles, ReplaceOnlyWhereTheyMay) {
  make_file(target_, "before");
  {
    PendingFile file = create();
    EXPECT_EQ(file.publish(false), EEXIST);
  }
  EXPECT_EQ(content_of(target_), "before");
  PendingFile file = create();
  write_text(file, "after");
  EXPECT_EQ(file.publish(true), 0);
  EXPECT_EQ(content_of(target_), "after");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(PendingFiles, AreKeptBesideTheirTargetWhereThatMustStay) {
  const std::string target = folder_ / "out.mkv";
  make_file(target, "before");
  for (const char* kept : {"out-1.mkv", "out-2.mkv"}) {
    auto file = PendingFile::create(target, GetParam());
    ASSERT_TRUE(file);
    write_text(*file, kept);
    EXPECT_EQ(file->publish(false), EEXIST);
    EXPECT_EQ(file->publish_beside(), folder_ / kept);
    EXPECT_EQ(content_of(folder_ / kept), kept);
  }
  EXPECT_EQ(content_of(target), "before");
  EXPECT_EQ(folder_.entries(), 3U);
}

TEST_P(PendingFiles, OfOneTargetAreIndependent) {
  PendingFile first = create();
  PendingFile second = create();
  write_text(first, "first");
  write_text(second, "second");
  EXPECT_EQ(second.publish(false), 0);
  EXPECT_EQ(first.publish(true), 0);
  EXPECT_EQ(content_of(target_), "first");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(PendingFiles, AreNoMoreForOthersThanTheUmaskLets) {
  const mode_t before = umask(027);
  PendingFile file = create();
  umask(before);
  struct stat status{};
  ASSERT_EQ(fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_P(PendingFiles, WithoutANameEndWithTheirDescriptor) {
  const Descriptor file = create().without_name();
  EXPECT_EQ(folder_.entries(), 0U);
  EXPECT_EQ(write(file.get(), "x", 1), 1);
}

TEST_P(PendingFiles, ThatNobodyCanMakeSayWhy) {
  EXPECT_EQ(PendingFile::create(folder_ / "none/out", GetParam()).error(), ENOENT);
}

TEST_P(PendingFiles, CanHaveTheLongestNameThereIs) {
  target_ = folder_ / std::string(255, 'n');
  PendingFile file = create();
  make_file(target_, "before");
  EXPECT_EQ(file.publish(true), 0);
  EXPECT_EQ(content_of(target_), "");
}

// The leftover of a killed process is removed when the same file is created again. Files in use stay.
TEST_P(PendingFiles, OfAProcessThatWasKilledDoNotStayForEver) {
  const PendingFile at_work = create();
  const std::size_t own = folder_.entries();
  for (int round = 0; round < 3; ++round) {
    const auto ready = make_pipe();
    ASSERT_TRUE(ready);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto file = PendingFile::create(target_, GetParam());
      if (!file || write(ready->write_end.get(), "x", 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char word = 0;
    ASSERT_EQ(read(ready->read_end.get(), &word, 1), 1);
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  EXPECT_LE(folder_.entries(), own + 1);
  PendingFile file = create();
  write_text(file, "new");
  EXPECT_EQ(file.publish(false), 0);
  EXPECT_EQ(content_of(target_), "new");
  EXPECT_EQ(folder_.entries(), own + 1) << "the target, and what is still at work";
}

INSTANTIATE_TEST_SUITE_P(BothWays, PendingFiles, testing::Values(Pending::unnamed, Pending::named),
                         [](const auto& test) {
                           return test.param == Pending::unnamed ? "Unnamed" : "Named";
                         });

TEST(PendingFile, UnnamedLeavesNothingWhenItsProcessIsKilled) {
  const TemporaryFolder folder;
  const auto ready = make_pipe();
  ASSERT_TRUE(ready);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto file = PendingFile::create(folder / "out");
    const bool unnamed = file && folder.entries() == 0;
    const bool written = file && write(file->get(), "some of it", 10) == 10;
    const char word = unnamed ? 'u' : 'n';
    if (!written || write(ready->write_end.get(), &word, 1) != 1) _exit(1);
    pause();
    _exit(1);
  }
  char word = 0;
  ASSERT_EQ(read(ready->read_end.get(), &word, 1), 1);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  if (word != 'u') GTEST_SKIP() << "SKIPPED: the file system of " << folder.path() << " has no unnamed files";
  EXPECT_EQ(folder.entries(), 0U);
}

}  // namespace
}  // namespace millrace
