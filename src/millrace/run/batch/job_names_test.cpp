#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/run/batch/job_names.h"

#include <filesystem>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T> std::string refused(const Result<T>& result) {
  if (result) return "was accepted";
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
  return result.error().message;
}

TEST(OutputName, FillsInThePattern) {
  const NamedInput named{.input = "clips/day.one.mp4", .number = 7, .jobs = 120};
  for (const auto& [pattern, name] : {std::pair{"out/{stem}.mkv", "out/day.one.mkv"},
                                      {"{dir}/{stem}-edges.mkv", "clips/day.one-edges.mkv"},
                                      {"{name}.mkv", "day.one.mp4.mkv"},
                                      {"{index}.mkv", "007.mkv"},
                                      {"a{{b}}.mkv", "a{b}.mkv"},
                                      {"null", "null"}})
    EXPECT_EQ(output_name(pattern, named), name) << pattern;
  EXPECT_EQ(output_name("{dir}/{stem}.y4m", {.input = "a.264"}), "./a.y4m");
  EXPECT_EQ(output_name("{dir}/{stem}.y4m", {.input = "/a.264"}), "//a.y4m");
}

TEST(OutputName, OfAGeneratedVideoIsOneName) {
  EXPECT_EQ(output_name("{dir}/{stem}.mkv", {.input = "test:64x48@5,fps=30000/1001"}),
            "./test:64x48@5,fps=30000_1001.mkv");
}

TEST(OutputName, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refused(output_name("{sten}.mkv", {.input = "a"})), HasSubstr("did you mean 'stem'?"));
  EXPECT_THAT(refused(output_name("{}.mkv", {.input = "a"})), HasSubstr("use {stem}"));
  EXPECT_THAT(refused(output_name("a{stem", {.input = "a"})), HasSubstr("not closed"));
}

TEST(OutputPattern, IsMadeOfFolderAndSuffix) {
  const TemporaryFolder folder;
  const std::string there = folder.path().string();
  EXPECT_THAT(refused(output_pattern("", "")), HasSubstr("-o null"));
  EXPECT_EQ(output_pattern("null", ""), "null");
  EXPECT_EQ(output_pattern("out/{stem}.mkv", ""), "out/{stem}.mkv");
  EXPECT_EQ(output_pattern("out", ".mkv"), "out/{stem}.mkv");
  EXPECT_EQ(output_pattern(there, "-a.mkv"), there + "/{stem}-a.mkv");
  EXPECT_EQ(output_pattern("", "-a.mkv"), "{dir}/{stem}-a.mkv");
  EXPECT_THAT(refused(output_pattern(there, "")), HasSubstr("--suffix .mp4"));
  EXPECT_THAT(refused(output_pattern("out/", "")), HasSubstr("'out/{stem}.mp4'"));
  EXPECT_THAT(refused(output_pattern("-", "")), HasSubstr("standard output"));
  EXPECT_THAT(refused(output_pattern("a-{stem}.mkv", ".mkv")), HasSubstr("pattern already"));
  EXPECT_THAT(refused(output_pattern("null", ".mkv")), HasSubstr("null"));
  EXPECT_THAT(refused(output_pattern("", "a/b")), HasSubstr("holds a /"));
}

TEST(ExpandInput, GivesFilesThatMatchInOrder) {
  const TemporaryFolder folder;
  for (const char* name : {"b.mp4", "a.mp4", "c.mkv", "x[1].mp4"})
    make_file(folder / name, "x");
  std::filesystem::create_directory(folder / "d.mp4");
  const auto found = expand_input(folder / "[ab]*.mp4");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, ElementsAre(folder / "a.mp4", folder / "b.mp4"));
  // An existing file is not treated as a pattern.
  EXPECT_THAT(*expand_input(folder / "x[1].mp4"), ElementsAre(folder / "x[1].mp4"));
  EXPECT_THAT(*expand_input(folder / "missing.mp4"), ElementsAre(folder / "missing.mp4"));
  EXPECT_THAT(*expand_input("test:32x32@2"), ElementsAre("test:32x32@2"));
  EXPECT_THAT(refused(expand_input(folder / "*.avi")), HasSubstr("no file matches"));
  EXPECT_THAT(refused(expand_input(folder.path().string())), HasSubstr("is a folder"));
  EXPECT_THAT(refused(expand_input("-")), HasSubstr("standard input"));
  EXPECT_THAT(refused(expand_input("")), HasSubstr("no name"));
}

std::string distinct(const std::vector<JobFiles>& jobs) {
  const Status checked = check_distinct(jobs);
  return checked ? "" : checked.error().message;
}

TEST(CheckDistinct, FindsOutputsThatAreOneFile) {
  const TemporaryFolder folder;
  const std::string there = folder.path().string();
  make_file(folder / "in.mp4", "x");
  make_file(folder / "there.mkv", "x");
  std::filesystem::create_symlink("there.mkv", folder / "link.mkv");
  std::filesystem::create_hard_link(folder / "in.mp4", folder / "same.mp4");
  EXPECT_EQ(distinct({{"a", folder / "1.mkv"}, {"b", folder / "2.mkv"}}), "");
  EXPECT_EQ(distinct({{"a", "null"}, {"b", "null"}}), "");
  EXPECT_EQ(distinct({{"a", "/dev/null"}, {"b", "/dev/null"}}), "");
  EXPECT_THAT(distinct({{"a", folder / "1.mkv"}, {"b", folder / "1.mkv"}}), HasSubstr("both 'a' and 'b'"));
  EXPECT_THAT(distinct({{"a", folder / "1.mkv"}, {"b", there + "/./x/../1.mkv"}}),
              HasSubstr("both 'a' and 'b'"));
  EXPECT_THAT(distinct({{"a", folder / "there.mkv"}, {"b", folder / "link.mkv"}}), HasSubstr("both"));
  EXPECT_THAT(distinct({{"a", folder / "q%04d.png"}, {"b", there + "/./q%03d.png"}}), HasSubstr("both"));
  EXPECT_THAT(distinct({{folder / "q%04d.png", folder / "q%d.png"}}), HasSubstr("is an input"));
  EXPECT_THAT(distinct({{"a", folder / "q%04d.png"}, {"b", folder / "q0%03d.png"}}), HasSubstr("both"));
  EXPECT_THAT(distinct({{folder / "q0001.png", folder / "q%04d.png"}}), HasSubstr("is an input"));
  EXPECT_THAT(distinct({{folder / "q0001.png", folder / "x.mkv"}, {"b", there + "/./q%04d.png"}}),
              HasSubstr("is an input"));
  EXPECT_THAT(distinct({{"a", folder / "q%04d.png"}, {"b", folder / "q0001.png"}}), HasSubstr("both"));
  EXPECT_EQ(distinct({{folder / "q1.png", folder / "q%04d.png"}}), "");
  make_file(folder / "q0003.png", "x");
  std::filesystem::create_symlink("q0003.png", folder / "alias.png");
  EXPECT_THAT(distinct({{folder / "alias.png", folder / "q%04d.png"}}), HasSubstr("is an input"));
  EXPECT_THAT(distinct({{"a", there + "/new//q%04d.png"}, {"b", there + "/new/q%03d.png"}}),
              HasSubstr("both"));
  EXPECT_EQ(distinct({{"a", folder / "q%04d.png"}, {"b", folder / "r%04d.png"}, {"c", folder / "q%04d.jpg"}}),
            "");
  EXPECT_EQ(distinct({{"a", folder / "q%04d.mp4"}, {"b", folder / "q%03d.mp4"}}),
            "");  // each is a single file
  EXPECT_THAT(distinct({{folder / "in.mp4", folder / "in.mp4"}}), HasSubstr("is an input"));
  EXPECT_THAT(distinct({{folder / "in.mp4", folder / "1.mkv"}, {"b", folder / "same.mp4"}}),
              HasSubstr("is an input"));
  for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
    EXPECT_THAT(distinct({{"a", name}}), HasSubstr("standard output")) << name;
  // A pipe's reader cannot tell two videos apart.
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(distinct({{"a", folder / "pipe"}}), "");
  EXPECT_THAT(distinct({{"a", folder / "pipe"}, {"b", folder / "pipe"}}), HasSubstr("both"));
}

}  // namespace
}  // namespace millrace::run
