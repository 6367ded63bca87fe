#include "dedup/run/folder_stream.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

namespace fs = std::filesystem;

std::string stream_of(const std::string& folder) {
  const auto stream = FolderStream::open(folder);
  if (!stream) return stream.error().message;
  const auto bytes = read_whole((*stream)->bytes());
  EXPECT_TRUE((*stream)->finish());
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

class FolderStreams : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "sub");
    for (const char* name : {"b", "a", "-c", "sub/d"})
      make_file((folder_ / name).string(), std::string("content of ") + name);
    fs::create_symlink("a", folder_ / "link");
  }
  const TemporaryFolder own_;
  const fs::path folder_ = own_.path() / "-the folder";
};

TEST_F(FolderStreams, AreWhatTarMakesAFolderOfAgain) {
  const std::string stream = stream_of(folder_.string());
  make_file(own_ / "a.tar", stream);
  const fs::path restored = own_.path() / "restored";
  fs::create_directory(restored);
  ASSERT_EQ(std::system(("tar xf '" + (own_ / "a.tar") + "' -C '" + restored.string() + "'").c_str()), 0);
  ASSERT_EQ(std::system(
                ("diff -r '" + folder_.string() + "' '" + (restored / "-the folder").string() + "'").c_str()),
            0);
  EXPECT_EQ(fs::read_symlink(restored / "-the folder/link"), "a");
}

TEST_F(FolderStreams, AreTheSameEachTime) {
  const std::string first = stream_of(folder_.string());
  setenv("TAR_OPTIONS", "--exclude=a", 1);
  EXPECT_EQ(stream_of(folder_.string() + "/"), first);
  unsetenv("TAR_OPTIONS");
}

TEST_F(FolderStreams, ThatTarCannotReadAsAWholeAreAFailure) {
  const auto stream = FolderStream::open(folder_.string());
  ASSERT_TRUE(stream);
  (*stream)->bytes().cancel();
  // Once more is written than a pipe holds, tar notices that its reader is gone.
  EXPECT_FALSE(read_whole((*stream)->bytes()));
}

TEST_F(FolderStreams, OfNoFolderAreAUsageError) {
  const auto stream = FolderStream::open(own_ / "none");
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::usage);
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const auto without = FolderStream::open(folder_.string());
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, testing::HasSubstr("install tar"));
}

}  // namespace
}  // namespace millrace::dedup
