#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/output_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace {
namespace {

using testing::HasSubstr;

class CheckOutputs : public testing::Test {
 protected:
  void SetUp() override {
    make_file(there_, "kept");
    std::filesystem::create_symlink("there", link_);
  }
  // The message of the usage error; empty if the outputs are accepted.
  static std::string refusal(const Status& checked) {
    if (checked) return {};
    EXPECT_EQ(checked.error().kind, ErrorKind::usage);
    return checked.error().message;
  }
  static std::string refusal(const std::string& path, Overwrite overwrite = Overwrite::no) {
    return refusal(check_outputs({{"OUT", path}}, overwrite));
  }

  TemporaryFolder folder_;
  std::string there_ = folder_ / "there";
  std::string link_ = folder_ / "link";
  std::string none_ = folder_ / "none";
};

TEST_F(CheckOutputs, RefuseWhatExistsUnlessItMayBeOverwritten) {
  for (const std::string& path : {there_, link_}) {
    EXPECT_EQ(refusal(path), path + ": exists; give -y to overwrite it, or choose another output");
    EXPECT_EQ(refusal(path, Overwrite::yes), "");
  }
  EXPECT_EQ(refusal(none_), "");
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(content_of(there_), "kept");
  EXPECT_EQ(folder_.entries(), 2U);  // nothing was created
}

TEST_F(CheckOutputs, TakeStandardStreamsDevicesAndPipesAsTheyAre) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path :
       {std::string("-"), std::string("/dev/null"), std::string("/dev/stdout"), pipe})
    EXPECT_EQ(refusal(path), "") << path;
  EXPECT_EQ(refusal(check_outputs({{"OUT", "/dev/null"}, {"--json", "/dev/null"}}, Overwrite::no)), "");
}

// check() reports everything that open() would refuse, in the same words.
TEST_F(CheckOutputs, RefuseInTheSameWordsAsOpening) {
  const std::string dangling = folder_ / "dangling";
  std::filesystem::create_symlink("nowhere", dangling);
  const std::string closed = folder_ / "closed";
  std::filesystem::create_directory(closed);
  chmod(closed.c_str(), 0500);
  std::vector<std::string> paths{there_, link_, dangling, std::string(folder_.path()), folder_ / "no/out"};
  if (geteuid() != 0) paths.push_back(closed + "/out");
  for (const std::string& path : paths) {
    const auto opened = OutputFile::open(path);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(refusal(path), opened.error().message);
  }
}

TEST_F(CheckOutputs, RefuseToMixTwoOutputs) {
  EXPECT_EQ(refusal(check_outputs({{"OUT", "-"}, {"--json", "-"}}, Overwrite::yes)),
            "standard output cannot take both OUT and --json; give one of them a file");
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {none_, none_}, {there_, link_}, {none_, folder_ / "./none"}}) {
    EXPECT_THAT(refusal(check_outputs({{"OUT", a}, {"--trace", ""}, {"--json", b}}, Overwrite::yes)),
                HasSubstr("is both OUT and --json"))
        << b;
  }
  EXPECT_EQ(refusal(check_outputs({{"OUT", "-"}, {"--json", none_}, {"--trace", ""}}, Overwrite::no)), "");
}

// Also if neither file exists yet, the paths are relative, or they name an open stream.
TEST_F(CheckOutputs, KnowOneFileByTwoNames) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_THAT(refusal(check_outputs({{"OUT", "none"}, {"--json", none_}}, Overwrite::no)),
              HasSubstr("is both OUT and --json"));
  EXPECT_THAT(refusal(check_outputs({{"OUT", "there"}}, Overwrite::yes, {{"IN", there_}})),
              HasSubstr("is both IN and OUT"));
  std::filesystem::current_path(before);
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
    EXPECT_EQ(refusal(check_outputs({{"OUT", "-"}, {"--json", name}}, Overwrite::yes)),
              "standard output cannot take both OUT and --json; give one of them a file");
}

TEST_F(CheckOutputs, RefuseToOverwriteTheInput) {
  EXPECT_EQ(refusal(check_outputs({{"OUT", link_}}, Overwrite::yes, {{"IN", there_}})),
            link_ + ": is both IN and OUT; choose another output");
  // A filter reads one standard stream and writes the other.
  EXPECT_EQ(refusal(check_outputs({{"OUT", "-"}}, Overwrite::no, {{"IN", "-"}})), "");
}

// By device and inode, in every pair of roles.
TEST_F(CheckOutputs, RefuseToOverwriteAnyInput) {
  const std::string second = folder_ / "second";
  make_file(second, "kept too");
  std::filesystem::create_hard_link(second, folder_ / "hard");
  for (const std::string& path : {second, folder_ / "hard", folder_ / "./second"}) {
    EXPECT_EQ(refusal(check_outputs({{"OUT", none_}, {"--json", path}}, Overwrite::yes,
                                    {{"IN", there_}, {"--policy", second}, {"--other", ""}})),
              path + ": is both --policy and --json; choose another output");
    EXPECT_EQ(refusal(check_outputs({{"OUT", path}, {"--json", none_}}, Overwrite::yes,
                                    {{"-", "-"}, {"IN", second}})),
              path + ": is both IN and OUT; choose another output");
  }
}

// Such a name must not be found out when the work is done.
TEST_F(CheckOutputs, RefuseNamesThatTheFileSystemCannotHold) {
  std::string deep = folder_.path();
  while (deep.size() < 4200)
    deep += "/" + std::string(100, 'd');
  for (const std::string& path : {folder_ / std::string(300, 'a'), folder_ / std::string(256, 'a'), deep}) {
    EXPECT_THAT(refusal(path), HasSubstr("the name is too long")) << path;
    const auto opened = OutputFile::open(path);
    ASSERT_FALSE(opened);
    EXPECT_EQ(refusal(path), opened.error().message);
  }
  EXPECT_EQ(refusal(folder_ / std::string(255, 'a')), "");
  EXPECT_EQ(folder_.entries(), 2U);
}

}  // namespace
}  // namespace millrace
