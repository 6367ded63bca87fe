#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace {
namespace {

using testing::HasSubstr;

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    text.push_back(std::to_integer<char>(byte));
  return text;
}

// Reads the rest, a few bytes at a time.
std::string rest_of(InputFile& file) {
  std::array<std::byte, 3> some{};
  std::string all;
  for (;;) {
    const auto count = file.read(some);
    EXPECT_TRUE(count) << count.error().message;
    if (!count || *count == 0) return all;
    all += text_of(std::span(some).first(*count));
  }
}

class InputFileTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_ / "in";
};

TEST_F(InputFileTest, IsReadFromItsBeginningAndAnywhere) {
  make_file(path_, "0123456789");
  const auto file = InputFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE((*file)->is_regular());
  EXPECT_EQ((*file)->size(), 10U);
  EXPECT_EQ(rest_of(**file), "0123456789");
  EXPECT_EQ((*file)->remaining(), 0U);
  ASSERT_TRUE((*file)->seek(7));
  EXPECT_EQ((*file)->remaining(), 3U);
  EXPECT_EQ(rest_of(**file), "789");
  std::array<std::byte, 2> two{};
  ASSERT_TRUE((*file)->read_at(3, two));
  EXPECT_EQ(text_of(two), "34");
  const Status beyond = (*file)->read_at(9, two);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("ends at byte 10"));
}

TEST_F(InputFileTest, BeginsWhereItsDescriptorStands) {
  make_file(path_, "0123456789");
  auto descriptor = Descriptor::owned(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(lseek(descriptor.get(), 4, SEEK_SET), 4);
  InputFile file(std::move(descriptor), "in");
  EXPECT_EQ(file.remaining(), 6U);
  EXPECT_EQ(rest_of(file), "456789");
  std::array<std::byte, 2> two{};
  ASSERT_TRUE(file.read_at(0, two));
  EXPECT_EQ(text_of(two), "45");
}

TEST_F(InputFileTest, IsRefusedWithTheWayOutWhereThereIsNone) {
  const InputAdvice advice{.missing = "give a video", .directory = "give one in it"};
  make_file(path_, "");
  for (const std::string& missing : {folder_ / "none", path_ + "/none"}) {
    const auto file = InputFile::open(missing, advice);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::usage);
    EXPECT_EQ(file.error().message, missing + ": no such file; give a video");
  }
  const auto folder = InputFile::open(folder_.path().string(), advice);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::usage);
  EXPECT_THAT(folder.error().message, HasSubstr("is a directory; give one in it"));
}

TEST_F(InputFileTest, FailsWhereItBecameShorterWhileItWasRead) {
  const std::string path = folder_ / "shrinking";
  for (const std::size_t left : {0U, 3U, 5U, 6U}) {
    make_file(path, "012345");
    auto file = InputFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    std::array<std::byte, 3> some{};
    ASSERT_EQ((*file)->read(some).value(), 3U);
    std::filesystem::resize_file(path, left);
    auto count = (*file)->read(some);
    if (count && *count > 0) count = (*file)->read(some);
    ASSERT_EQ(count.has_value(), left == 6) << left;
    if (!count) {
      EXPECT_THAT(count.error().message, HasSubstr("shrinking: became shorter while it was read"));
    }
  }
}

TEST_F(InputFileTest, KnowsItsOtherNames) {
  make_file(path_, "content");
  std::filesystem::create_hard_link(path_, folder_ / "other name");
  const auto file = InputFile::open(path_);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->is_same_file(folder_ / "other name"));
  EXPECT_FALSE((*file)->is_same_file(folder_ / "none"));
}

TEST_F(InputFileTest, WaitsForTheWriterOfANamedPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const auto file = InputFile::open(path_);  // there is no writer yet
  ASSERT_TRUE(file);
  EXPECT_FALSE((*file)->is_regular());
  std::thread writer([&] { make_file(path_, "late"); });
  EXPECT_EQ(rest_of(**file), "late");
  writer.join();
}

TEST_F(InputFileTest, EndsItsWaitWhenStoppedOrCancelled) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  for (const bool by_token : {true, false}) {
    std::stop_source stop;
    const auto file = InputFile::open(path_, {}, stop.get_token());
    ASSERT_TRUE(file);
    std::thread later([&] {
      if (by_token)
        stop.request_stop();
      else
        (*file)->cancel();
    });
    std::array<std::byte, 1> one{};
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ((*file)->read(one).error().kind, ErrorKind::interrupted);
    later.join();
  }
}

// Kernel files are regular files without a size. Some of them block readers, for example /proc/kmsg.
TEST_F(InputFileTest, IsNoLongerReadWhenStoppedWhereItMayWait) {
  make_file(path_, "");
  std::stop_source stop;
  const auto file = InputFile::open(path_, {}, stop.get_token());
  ASSERT_TRUE(file);
  std::array<std::byte, 1> one{};
  EXPECT_EQ((*file)->read(one), 0U);
  stop.request_stop();
  const auto stopped = (*file)->read(one);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
}

}  // namespace
}  // namespace millrace
