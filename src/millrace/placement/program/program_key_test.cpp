#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/program/program_key.h"

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

std::optional<std::uint64_t> sizes(const std::string& name) {
  if (name == "clip.y4m") return 45'000'000;
  if (name == "other.y4m") return 40'000'000;
  if (name == "huge.y4m") return 900'000'000;
  return std::nullopt;
}

using Words = std::vector<std::string>;

TEST(ProgramKey, ShapeForgetsWhichFileButNotHowLarge) {
  const Words arguments = {"--preset", "superfast", "--threads", "4", "-o", "/dev/null", "clip.y4m"};
  EXPECT_EQ(shape_of(arguments, sizes), "--preset superfast --threads 4 -o PATH FILE.y4m<8^9");
  Words other = arguments;
  other.back() = "other.y4m";
  EXPECT_EQ(shape_of(arguments, sizes), shape_of(other, sizes));
  other.back() = "huge.y4m";
  EXPECT_NE(shape_of(arguments, sizes), shape_of(other, sizes));
}

TEST(ProgramKey, ShapeKeepsWhatDecidesTheWork) {
  EXPECT_NE(shape_of({"--threads", "4"}, sizes), shape_of({"--threads", "8"}, sizes));
  EXPECT_NE(shape_of({"-9"}, sizes), shape_of({"-1"}, sizes));
}

TEST(ProgramKey, ShapeLooksIntoOptionsWithValues) {
  EXPECT_EQ(shape_of({"--input=clip.y4m", "--crf=23", "--out=a/b.mkv"}, sizes),
            "--input=FILE.y4m<8^9 --crf=23 --out=PATH.mkv");
}

TEST(ProgramKey, DiffersByProgramArgumentsAndCpus) {
  const ProgramFile a{.path = "/usr/bin/x264", .build_id = "aa", .size_bytes = 5};
  ProgramFile b = a;
  b.build_id = "bb";
  const auto key = program_key(a, {"x264", "-v"}, {0, 1}, sizes);
  EXPECT_EQ(key, program_key(a, {"/usr/bin/x264", "-v"}, {0, 1}, sizes));
  EXPECT_NE(key, program_key(b, {"x264", "-v"}, {0, 1}, sizes));
  EXPECT_NE(key, program_key(a, {"x264", "-q"}, {0, 1}, sizes));
  EXPECT_NE(key, program_key(a, {"x264", "-v"}, {0}, sizes));
  auto other_build = program_key(b, {"x264", "-v"}, {0, 1}, sizes);
  EXPECT_NE(other_build.at("build"), key.at("build"));
  other_build["build"] = key.at("build");
  EXPECT_EQ(other_build, key) << "builds of one program differ in that alone";
}

TEST(ProgramKey, HoldsNoArgumentInClear) {
  const ProgramFile program{.path = "/usr/bin/x264", .build_id = "aa", .size_bytes = 5};
  for (const auto& [name, value] : program_key(program, {"x264", "--password=geheim"}, {0, 1}, sizes))
    EXPECT_EQ(value.find("geheim"), std::string::npos) << name;
}

TEST(ProgramKey, TellsScriptsOfOneInterpreterApart) {
  const TemporaryFolder folder;
  for (const char* name : {"a.py", "b.py"})
    make_file(folder / name, "pass\n");
  for (const char* interpreter : {"python3.11", "node", "perl", "bash", "java"}) {
    const ProgramFile program{.path = std::filesystem::path("/usr/bin") / interpreter, .build_id = "aa"};
    const auto key_of = [&](const std::string& script) {
      return program_key(program, {interpreter, folder / script}, {0, 1}, size_of_file);
    };
    EXPECT_NE(key_of("a.py"), key_of("b.py")) << interpreter;
    EXPECT_EQ(key_of("a.py"), key_of("a.py"));
  }
  const ProgramFile encoder{.path = "/usr/bin/x264", .build_id = "aa"};
  EXPECT_EQ(program_key(encoder, {"x264", folder / "a.py"}, {0, 1}, size_of_file),
            program_key(encoder, {"x264", folder / "b.py"}, {0, 1}, size_of_file));
}

TEST(ProgramKey, TellsBuildsInDifferentFoldersApart) {
  const TemporaryFolder folder;
  const ProgramFile make{.path = "/usr/bin/make", .build_id = "aa"};
  const auto here = std::filesystem::current_path();
  const auto key = program_key(make, {"make", "-j4"}, {0, 1}, size_of_file);
  std::filesystem::current_path(folder.path());
  const auto other = program_key(make, {"make", "-j4"}, {0, 1}, size_of_file);
  std::filesystem::current_path(here);
  EXPECT_NE(key, other);
}

}  // namespace
}  // namespace millrace::placement
