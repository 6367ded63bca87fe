#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/run/batch/input_stamp.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

class InputStamp : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::optional<FileStamp> stamp(const std::string& name) const {
    return stamp_of_input(folder_ / name);
  }

  TemporaryFolder folder_;
};

TEST_F(InputStamp, IsThatOfTheFile) {
  write("in.mp4", "video");
  EXPECT_EQ(stamp("in.mp4"), stamp_of(folder_ / "in.mp4"));
  write("a%d.png", "a file of this very name");
  write("a1.png", "no member");
  EXPECT_EQ(stamp("a%d.png"), stamp_of(folder_ / "a%d.png"));
}

TEST_F(InputStamp, ChangesWithEachPictureOfASequence) {
  for (const char* name : {"f1.png", "f2.png", "f3.png", "f9.png"})
    write(name, "abc");
  const auto before = stamp("f%d.png");
  ASSERT_TRUE(before);
  EXPECT_EQ(stamp("f%d.png"), before);

  const std::filesystem::path second = folder_ / "f2.png";
  const auto time = std::filesystem::last_write_time(second);
  std::filesystem::last_write_time(second, time - std::chrono::seconds(5));
  EXPECT_NE(stamp("f%d.png"), before) << "older than it was, as large as it was";
  std::filesystem::last_write_time(second, time);
  EXPECT_EQ(stamp("f%d.png"), before);

  write("f9.png", "no reader comes to this one");
  EXPECT_EQ(stamp("f%d.png"), before);
  write("f4.png", "");
  EXPECT_NE(stamp("f%d.png"), before) << "one more";
}

TEST_F(InputStamp, IsNoneWhereNobodyCanKnow) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const char* name : {"pipe", "missing.mp4", "missing%d.png"})
    EXPECT_FALSE(stamp(name)) << name;
  EXPECT_FALSE(stamp_of_input("/dev/zero"));
}

TEST_F(InputStamp, OfWhatIsGeneratedIsAlwaysTheSame) {
  EXPECT_TRUE(stamp_of_input("test:32x32@3"));
  EXPECT_EQ(stamp_of_input("test:32x32@3"), stamp_of_input("test:32x32@3"));
}

}  // namespace
}  // namespace millrace::run
