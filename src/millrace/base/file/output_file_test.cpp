#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/file/output_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class OutputFileTest : public testing::Test {
 protected:
  [[nodiscard]] static std::unique_ptr<OutputFile> opened(const std::string& path,
                                                          const OutputOptions& options = {}) {
    auto file = OutputFile::open(path, options);
    EXPECT_TRUE(file) << file.error().message;
    return *std::move(file);
  }
  // The message of the usage error with which opening is refused.
  [[nodiscard]] static std::string refusal(const std::string& path, const OutputOptions& options = {}) {
    const auto file = OutputFile::open(path, options);
    EXPECT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::usage);
    return file.error().message;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "out";
};

TEST_F(OutputFileTest, HasItsNameOnlyWhenCommitted) {
  {
    const auto file = opened(path_);
    ASSERT_TRUE(file->write(bytes_of("lost")));
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  EXPECT_EQ(folder_.entries(), 0U);
  const auto file = opened(path_);
  ASSERT_TRUE(file->write(bytes_of("kept")));
  EXPECT_TRUE(file->can_read_back());
  ASSERT_TRUE(file->commit());
  EXPECT_FALSE(file->can_read_back());
  EXPECT_EQ(content_of(path_), "kept");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(OutputFileTest, ReplacesAnotherOnlyWhereItMay) {
  make_file(path_, "before");
  EXPECT_EQ(refusal(path_), path_ + ": exists; give -y to overwrite it, or choose another output");
  const auto file = opened(path_, {.overwrite = Overwrite::yes});
  EXPECT_EQ(content_of(path_), "before");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content_of(path_), "");
}

TEST_F(OutputFileTest, KeepsOneThatCameMeanwhile) {
  const auto file = opened(path_);
  make_file(path_, "meanwhile");
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(content_of(path_), "meanwhile");
}

TEST_F(OutputFileTest, KeepsThePermissionsOfWhatItReplaces) {
  make_file(path_, "before");
  ASSERT_EQ(chmod(path_.c_str(), 0604), 0);
  ASSERT_TRUE(opened(path_, {.overwrite = Overwrite::yes})->commit());
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0604U);
}

TEST_F(OutputFileTest, FollowsLinks) {
  make_file(path_, "before");
  const std::string link = folder_ / "link";
  std::filesystem::create_symlink("out", link);
  const auto file = opened(link, {.overwrite = Overwrite::yes});
  ASSERT_TRUE(file->write(bytes_of("after")));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(content_of(path_), "after");
  std::filesystem::remove(path_);
  EXPECT_THAT(refusal(link, {.overwrite = Overwrite::yes}), HasSubstr("link to a file that does not exist"));
}

TEST_F(OutputFileTest, IsRefusedWhereThereCanBeNone) {
  EXPECT_THAT(refusal(folder_.path(), {.overwrite = Overwrite::yes}), HasSubstr("is a directory"));
  EXPECT_THAT(refusal(folder_ / "none/out"), AllOf(HasSubstr("no folder"), Not(HasSubstr("\n"))));
}

TEST_F(OutputFileTest, WritesDevicesAndNamedPipesInPlace) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = content_of(path_); });
  {
    const auto file = opened(path_);
    EXPECT_FALSE(file->is_regular());
    EXPECT_TRUE(file->write(bytes_of("through the pipe")));
    EXPECT_TRUE(file->commit());
  }
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(OutputFileTest, WaitsForTheReaderOfANamedPipeUntilStopped) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    got = content_of(path_);
  });
  EXPECT_TRUE(opened(path_)->write(bytes_of("late")));
  reader.join();
  EXPECT_EQ(got, "late");

  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto nobody = OutputFile::open(path_, {}, stop.get_token());
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().kind, ErrorKind::interrupted);
  EXPECT_THAT(nobody.error().message, HasSubstr(path_));
  later.join();
}

TEST_F(OutputFileTest, AStopEndsWritesUnlessToldOtherwise) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  for (const bool ends_writes : {true, false}) {
    std::string got;
    std::thread reader([&] { got = content_of(path_); });
    std::stop_source stop;
    {
      const auto file = OutputFile::open(path_, {.stop_ends_writes = ends_writes}, stop.get_token());
      ASSERT_TRUE(file);
      stop.request_stop();
      EXPECT_EQ((*file)->write(bytes_of("rest")).has_value(), !ends_writes);
    }
    reader.join();
    EXPECT_EQ(got, ends_writes ? "" : "rest");
  }
}

TEST_F(OutputFileTest, WritesToThePipeThatALinkOfProcLeadsTo) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  // Like /dev/stdout when standard output is a pipe.
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(pipe->write_end.get()), path_);
  ASSERT_TRUE(opened(path_)->write(bytes_of("x")));
  char got = 0;
  EXPECT_EQ(read(pipe->read_end.get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

// For `PROGRAM -o /dev/stdout >> FILE`.
TEST_F(OutputFileTest, GoesOnInAFileThatTheProcessHasOpen) {
  const std::string log = folder_ / "log";
  make_file(log, "before ");
  const auto open_file = Descriptor::owned(open(log.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(lseek(open_file.get(), 0, SEEK_END), 7);
  const std::string number = std::to_string(open_file.get());
  std::filesystem::create_symlink("/proc/self/fd/" + number, path_);
  for (const std::string& name : {path_, "/dev/fd/" + number, "/proc/self/fd/" + number}) {
    EXPECT_TRUE(OutputFile::check(name, Overwrite::no)) << name;
    const auto file = opened(name);
    ASSERT_TRUE(file->write(bytes_of("x")));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(content_of(log), "before xxx");
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  // A link to the same file under its own name is an existing file.
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(log, path_);
  EXPECT_THAT(refusal(path_), HasSubstr("exists"));
}

TEST_F(OutputFileTest, SaysHowMuchAFullDeviceTook) {
  const Status written = opened("/dev/full")->write(bytes_of("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::failure);
  EXPECT_EQ(written.error().message,
            "/dev/full: no space left after 0 bytes; free some or choose another place");
}

TEST_F(OutputFileTest, KnowsTheRoomThereIsForANewFileOnly) {
  EXPECT_EQ(OutputFile::room_for(path_).value_or(0) / (1U << 26U),
            std::filesystem::space(folder_.path()).available / (1U << 26U));
  for (const char* path : {"-", "/dev/null", "/no/such/folder/out"})
    EXPECT_EQ(OutputFile::room_for(path), std::nullopt) << path;
}

TEST_F(OutputFileTest, IsWrittenAndReadAtAnyPlace) {
  const auto file = opened(path_);
  ASSERT_TRUE(file->write(bytes_of("0123456789")));
  EXPECT_EQ(file->position(), 10U);
  ASSERT_TRUE(file->seek(2));
  ASSERT_TRUE(file->write(bytes_of("ab")));
  ASSERT_TRUE(file->write_at(12, bytes_of("z")));
  EXPECT_EQ(file->position(), 4U);
  std::array<std::byte, 4> back{};
  ASSERT_TRUE(file->read_at(1, back));
  EXPECT_TRUE(std::ranges::equal(back, bytes_of("1ab4")));
  EXPECT_FALSE(file->read_at(10, back));
  ASSERT_TRUE(file->truncate(5));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content_of(path_), "01ab4");
}

TEST_F(OutputFileTest, OfATemporaryKindHasNoName) {
  const auto file = OutputFile::temporary();
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE((*file)->write_at(5000, bytes_of("far out")));
  std::array<std::byte, 7> back{};
  ASSERT_TRUE((*file)->read_at(5000, back));
  EXPECT_TRUE(std::ranges::equal(back, bytes_of("far out")));
  EXPECT_FALSE((*file)->read_at(5001, back));
}

TEST_F(OutputFileTest, EndsItsWaitForAPipeWhenStoppedOrCancelled) {
  const std::vector<std::byte> more_than_a_pipe_takes(std::size_t{4} << 20);
  for (const bool by_token : {true, false}) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    std::stop_source stop;
    OutputFile file(std::move(pipe->write_end), "the pipe", stop.get_token());
    std::thread later([&] {
      if (by_token)
        stop.request_stop();
      else
        file.cancel();
    });
    EXPECT_EQ(file.write(more_than_a_pipe_takes).error().kind, ErrorKind::interrupted);
    later.join();
    EXPECT_EQ(file.write(bytes_of("x")).error().kind, ErrorKind::interrupted);
  }
}

TEST_F(OutputFileTest, ReportsAReaderThatWentAwayWithoutASignal) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  OutputFile file(std::move(pipe->write_end), "the pipe");
  pipe->read_end.close();
  const Status written = file.write(bytes_of("x"));
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, AllOf(HasSubstr("the pipe"), HasSubstr("has ended")));
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace millrace
