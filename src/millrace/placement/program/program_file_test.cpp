#include "millrace/placement/program/program_file.h"
#include "millrace/placement/task/testing_files.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

TEST(ProgramFile, StaticAndDynamicProgramsAreTold) {
  for (const auto* name : {"threads", "tracing"}) {
    const auto dynamic = inspect_program(testing_program("dynamic", name));
    const auto fixed_program = inspect_program(testing_program("static", name));
    ASSERT_TRUE(dynamic && fixed_program);
    EXPECT_TRUE(dynamic->dynamic);
    EXPECT_TRUE(dynamic->glibc);
    EXPECT_FALSE(fixed_program->glibc);
    EXPECT_FALSE(fixed_program->dynamic);
    EXPECT_FALSE(dynamic->narrow);
    EXPECT_FALSE(dynamic->script);
    EXPECT_FALSE(dynamic->changes_user);
    EXPECT_NE(dynamic->build_id, fixed_program->build_id);
  }
}

// A preloaded library is built for one C library.
TEST(ProgramFile, TheLoaderTellsTheCLibrary) {
  std::ifstream stream(testing_program("dynamic", "threads"), std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  const std::size_t loader = text.find("/lib", sizeof(Elf64_Ehdr));
  ASSERT_NE(loader, std::string::npos);
  const std::size_t room = text.find('\0', loader) - loader;
  const std::vector<std::pair<std::string, bool>> cases = {{"/lib/ld-musl-x.so.1", false},
                                                           {"/lib/ld-linux.so.1", true},
                                                           {"/a/b/ld64.so.2", true},
                                                           {"/ld-linux/x", false},
                                                           {"ld-linux.so.2", true},
                                                           {"", false},
                                                           {"/", false},
                                                           {"/system/bin/linker", false}};
  for (const auto& [path, glibc] : cases) {
    ASSERT_LE(path.size(), room);
    std::string changed = text;
    changed.replace(loader, room, path + std::string(room - path.size(), '\0'));
    const auto file = inspect_elf(std::as_bytes(std::span(changed)));
    ASSERT_TRUE(file) << path;
    EXPECT_TRUE(file->dynamic) << path;
    EXPECT_EQ(file->glibc, glibc) << path;
  }
}

TEST(ProgramFile, ProgramsThatTraceOthersAreTold) {
  EXPECT_TRUE(inspect_program(testing_program("dynamic", "tracing"))->traces);
  EXPECT_FALSE(inspect_program(testing_program("dynamic", "threads"))->traces);
}

TEST(ProgramFile, IsLookedUpAsAShellDoes) {
  const auto shell = inspect_program("sh");
  ASSERT_TRUE(shell);
  EXPECT_TRUE(shell->dynamic);
  EXPECT_FALSE(inspect_program("there-is-no-such-program"));
  EXPECT_FALSE(inspect_program("/etc/passwd"));
  EXPECT_FALSE(inspect_program("/tmp"));
}

TEST(ProgramFile, ScriptsAreAsTheirInterpreter) {
  const TemporaryFile script;
  std::ofstream(script.path()) << "#! /bin/sh -e\ntrue\n";
  chmod(script.path().c_str(), 0755);
  const auto file = inspect_program(script.path());
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->script);
  EXPECT_TRUE(file->dynamic);
}

TEST(ProgramFile, SetUserIdIsTold) {
  const TemporaryFile copy;
  std::filesystem::copy_file(testing_program("static", "threads"), copy.path(),
                             std::filesystem::copy_options::overwrite_existing);
  chmod(copy.path().c_str(), 04755);
  const auto file = inspect_program(copy.path());
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->changes_user);
}

// The kernel ignores the rights of a script's own file.
TEST(ProgramFile, TheRightsOfAScriptAreThoseOfItsLastInterpreter) {
  const TemporaryFile interpreter;
  const TemporaryFile inner;
  const TemporaryFile outer;
  std::filesystem::copy_file(testing_program("dynamic", "tracing"), interpreter.path(),
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(inner.path()) << "#!" << interpreter.path() << "\n";
  std::ofstream(outer.path()) << "#! " << inner.path() << " -x\n";
  for (const auto& [mode, changes_user] : {std::pair(0755, false), std::pair(04755, true)}) {
    chmod(interpreter.path().c_str(), static_cast<mode_t>(mode));
    for (const auto* script : {&inner, &outer}) {
      for (const mode_t own : {mode_t{0755}, mode_t{04755}}) {
        chmod(script->path().c_str(), own);
        const auto file = inspect_program(script->path());
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(file->changes_user, changes_user);
        EXPECT_TRUE(file->script);
        EXPECT_TRUE(file->traces) << "like its interpreter";
        EXPECT_EQ(file->path, script->path());
        EXPECT_EQ(file->build_id, "");
      }
    }
  }
}

// Each is the interpreter of the other.
TEST(ProgramFile, ScriptsWithoutAnEndAreRead) {
  const TemporaryFile one;
  const TemporaryFile other;
  std::ofstream(one.path()) << "#!" << other.path() << "\n";
  std::ofstream(other.path()) << "#!" << one.path() << "\n";
  chmod(one.path().c_str(), 0755);
  const auto file = inspect_program(one.path());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->script);
  EXPECT_FALSE(file->dynamic);
}

TEST(ProgramFile, ProgramsOf32BitsAreTold) {
  std::vector<std::byte> bytes(sizeof(Elf64_Ehdr));
  std::memcpy(bytes.data(), ELFMAG, SELFMAG);
  bytes[EI_CLASS] = std::byte{ELFCLASS32};
  const auto file = inspect_elf(bytes);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->narrow);
}

// Reading ends whatever is damaged.
TEST(ProgramFile, DamagedFilesAreReadWithoutHarm) {
  std::ifstream stream(testing_program("dynamic", "tracing"), std::ios::binary);
  const std::vector<char> text(std::istreambuf_iterator<char>(stream), {});
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<char> damaged = text;
    for (int j = 0; j < 8; ++j)
      damaged[random() % (j < 6 ? 1024 : damaged.size())] = static_cast<char>(random());
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    const auto file = inspect_elf(std::as_bytes(std::span(damaged)));
    if (file) {
      EXPECT_LE(file->build_id.size(), 2 * damaged.size());
    }
  }
}

}  // namespace
}  // namespace millrace::placement
