#include "millrace/base/file/private_folder.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t somebody = 65534;

// The mode, owner and content of a path, to detect any change to a folder that must be left alone.
std::string state_of(const fs::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return "missing";
  std::string state = fmt::format("{:o} {}", status.st_mode, status.st_uid);
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    state += " " + entry->path().filename().string();
  return state;
}

void make_folder(const fs::path& path, mode_t mode, uid_t owner) {
  fs::create_directories(path);
  ASSERT_EQ(chown(path.c_str(), owner, owner), 0);
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

// A home with `.cache/millrace` and a victim: another folder of this user, which must not change.
struct Place {
  fs::path home;
  fs::path victim;
  [[nodiscard]] fs::path cache() const { return home / ".cache"; }
  [[nodiscard]] fs::path folder() const { return home / ".cache/millrace"; }
};

struct Hostile {
  std::string_view name;
  std::function<void(const Place&)> make;
  std::string_view message;
};

const Hostile hostile[] = {
    {"homeOfAnother", [](const Place& place) { make_folder(place.home, 0755, somebody); },
     "belongs to user 65534"},
    {"ownFolderInTheHomeOfAnother",
     [](const Place& place) {
       make_folder(place.folder(), 0700, 0);
       make_folder(place.home, 0755, somebody);
     },
     "belongs to user 65534"},
    {"linkOfAnother",
     [](const Place& place) {
       make_folder(place.cache(), 0700, 0);
       fs::create_directory_symlink(place.victim, place.folder());
       ASSERT_EQ(lchown(place.folder().c_str(), somebody, somebody), 0);
     },
     "is a link of user 65534"},
    {"linkInTheCacheOfAnother",
     [](const Place& place) {
       make_folder(place.cache(), 0755, somebody);
       fs::create_directory_symlink(place.victim, place.folder());
     },
     "belongs to user 65534"},
    {"linkToTheFolderOfAnother",
     [](const Place& place) {
       make_folder(place.home / "theirs", 0755, somebody);
       make_folder(place.cache(), 0700, 0);
       fs::create_directory_symlink(place.home / "theirs", place.folder());
     },
     "belongs to user 65534"},
    {"linkThroughTheFolderOfAnother",
     [](const Place& place) {
       make_folder(place.home / "theirs/ours", 0700, 0);
       make_folder(place.home / "theirs", 0755, somebody);
       fs::create_directory_symlink(place.home / "theirs", place.cache());
     },
     "belongs to user 65534"},
    {"linkInAStickyFolder",
     [](const Place& place) {
       make_folder(place.cache(), 01777, 0);
       fs::create_directory_symlink(place.victim, place.folder());
     },
     "where others may write"},
    {"folderOfAnotherInAStickyOne",
     [](const Place& place) {
       make_folder(place.folder(), 0777, somebody);
       make_folder(place.cache(), 01777, 0);
     },
     "belongs to user 65534"},
    {"groupMayWriteAbove",
     [](const Place& place) {
       make_folder(place.folder(), 0700, 0);
       make_folder(place.cache(), 0770, 0);
     },
     "others may write in"},
    {"othersMayWriteAbove", [](const Place& place) { make_folder(place.cache(), 0707, 0); },
     "others may write in"},
    {"linkToAFile",
     [](const Place& place) {
       make_folder(place.cache(), 0700, 0);
       make_file(place.home / "file", "x");
       fs::create_symlink(place.home / "file", place.folder());
     },
     "is not a folder"},
    {"file",
     [](const Place& place) {
       make_folder(place.cache(), 0700, 0);
       make_file(place.folder(), "x");
     },
     "is not a folder"},
    {"fileAbove", [](const Place& place) { make_file(place.cache(), "x"); }, "is not a folder"},
    {"fifo",
     [](const Place& place) {
       make_folder(place.cache(), 0700, 0);
       ASSERT_EQ(mkfifo(place.folder().c_str(), 0600), 0);
     },
     "is not a folder"},
    {"linkRound",
     [](const Place& place) {
       make_folder(place.cache(), 0700, 0);
       fs::create_symlink("millrace", place.folder());
     },
     "cannot be opened"},
    {"linkToAFolderThatOthersMayWrite",
     [](const Place& place) {
       make_folder(place.home / "open", 0777, 0);
       make_folder(place.cache(), 0700, 0);
       fs::create_directory_symlink(place.home / "open", place.folder());
     },
     "others may write in"},
};

std::string name_of(FolderUse use) {
  return use == FolderUse::make ? "make" : use == FolderUse::keep ? "keep" : "read";
}

class HostileFolders : public testing::TestWithParam<std::tuple<FolderUse, std::size_t>> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to be two users";
    make_folder(place_.home, 0755, 0);
    make_folder(place_.victim, 0755, 0);
    make_file(place_.victim / "file", "x");
  }
  const TemporaryFolder own_;
  const Place place_{own_.path() / "home", own_.path() / "victim"};
};

TEST_P(HostileFolders, AreRefusedInOneLineAndNothingIsChanged) {
  const auto& [use, which] = GetParam();
  hostile[which].make(place_);
  const std::string victim = state_of(place_.victim);
  const std::string home = state_of(place_.home);
  const std::string cache = state_of(place_.cache());
  const std::string theirs = state_of(place_.home / "theirs");
  const auto folder = open_private_folder(place_.folder(), use);
  // A read-only check may find nothing there.
  if (folder)
    EXPECT_TRUE(use != FolderUse::make && !folder->is_open());
  else
    EXPECT_THAT(folder.error().message, AllOf(HasSubstr(hostile[which].message), Not(HasSubstr("\n"))));
  EXPECT_EQ(state_of(place_.victim), victim);
  EXPECT_EQ(state_of(place_.home), home);
  EXPECT_EQ(state_of(place_.cache()), cache);
  EXPECT_EQ(state_of(place_.home / "theirs"), theirs);
}

INSTANTIATE_TEST_SUITE_P(All, HostileFolders,
                         testing::Combine(testing::Values(FolderUse::make, FolderUse::keep, FolderUse::read),
                                          testing::Range<std::size_t>(0, std::size(hostile))),
                         [](const auto& info) {
                           return fmt::format("{}_{}", name_of(std::get<0>(info.param)),
                                              hostile[std::get<1>(info.param)].name);
                         });

class PrivateFolder : public testing::Test {
 protected:
  [[nodiscard]] static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  const TemporaryFolder own_;
  const fs::path folder_ = own_.path() / "a/b/millrace";
};

TEST_F(PrivateFolder, IsMadeWithThoseAboveItForThisUserAlone) {
  const mode_t before = umask(0);
  for (int round = 0; round < 2; ++round) {
    const auto folder = open_private_folder(folder_, FolderUse::make);
    ASSERT_TRUE(folder) << folder.error().message;
    struct stat opened{};
    struct stat named{};
    ASSERT_EQ(fstat(folder->get(), &opened), 0);
    ASSERT_EQ(stat(folder_.c_str(), &named), 0);
    EXPECT_EQ(opened.st_ino, named.st_ino);
  }
  umask(before);
  for (const fs::path& path : {folder_, folder_.parent_path(), folder_.parent_path().parent_path()})
    EXPECT_EQ(mode_of(path), 0700U) << path;
}

TEST_F(PrivateFolder, IsNotMadeByWhoeverOnlyLooks) {
  for (const FolderUse use : {FolderUse::keep, FolderUse::read}) {
    const auto folder = open_private_folder(folder_, use);
    ASSERT_TRUE(folder) << folder.error().message;
    EXPECT_FALSE(folder->is_open());
  }
  EXPECT_EQ(own_.entries(), 0U);
}

TEST_F(PrivateFolder, ThatWasOpenToOthersIsClosedByWhoeverMakesItAndRefusedByWhoeverLooks) {
  fs::create_directories(folder_);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(open_private_folder(folder_, FolderUse::keep));
  EXPECT_EQ(mode_of(folder_), 0777U);
  EXPECT_TRUE(open_private_folder(folder_, FolderUse::make));
  EXPECT_EQ(mode_of(folder_), 0700U);
  EXPECT_TRUE(open_private_folder(folder_, FolderUse::keep));
}

TEST_F(PrivateFolder, IsFoundThroughOnesOwnLinksWhoseTargetKeepsItsMode) {
  const fs::path disk = own_.path() / "disk/cache";
  fs::create_directories(disk);
  for (const fs::path& link : {fs::path("cache-absolute"), fs::path("cache-relative")}) {
    fs::create_directory_symlink(link == "cache-absolute" ? disk : fs::path("./disk/../disk//cache"),
                                 own_.path() / link);
    const auto folder = open_private_folder(own_.path() / link / "millrace", FolderUse::make);
    ASSERT_TRUE(folder) << folder.error().message;
    EXPECT_EQ(mode_of(disk / "millrace"), 0700U);
  }
  ASSERT_EQ(chmod(disk.c_str(), 0755), 0);
  fs::create_directory_symlink(disk, own_.path() / "millrace");
  EXPECT_TRUE(open_private_folder(own_.path() / "millrace", FolderUse::make));
  EXPECT_EQ(mode_of(disk), 0755U);
}

TEST_F(PrivateFolder, IsNotMadeBehindALinkThatLeadsNowhere) {
  fs::create_directory_symlink(own_.path() / "no-disk/cache", own_.path() / "a");
  const auto folder = open_private_folder(folder_, FolderUse::make);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, AllOf(HasSubstr("no-disk"), HasSubstr("to which a link leads")));
  EXPECT_FALSE(fs::exists(own_.path() / "no-disk"));
}

TEST_F(PrivateFolder, IsFoundWhereverTheUserNamedTheFolderAboveIt) {
  const fs::path shared = own_.path() / "shared";
  fs::create_directory(shared);
  ASSERT_EQ(chmod(shared.c_str(), 0777), 0);
  EXPECT_FALSE(open_private_folder(shared / "kernels", FolderUse::make));
  EXPECT_TRUE(open_private_folder(shared / "kernels", FolderUse::make, shared));
  EXPECT_EQ(mode_of(shared), 0777U);
  EXPECT_EQ(mode_of(shared / "kernels"), 0700U);
}

TEST_F(PrivateFolder, OfAUserMayLieInOneThatTheUsersPrivateGroupMayWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to become another user";
  ASSERT_EQ(chmod(own_.path().c_str(), 0755), 0);
  const auto opens = [&](gid_t group) {
    const fs::path cache = own_.path() / "cache";
    fs::create_directories(cache);
    EXPECT_EQ(chown(cache.c_str(), 1234, group), 0);
    EXPECT_EQ(chmod(cache.c_str(), 0775), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool became = setgid(group) == 0 && setuid(1234) == 0;
      _exit(became && open_private_folder(cache / "millrace", FolderUse::make) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_FALSE(opens(100)) << "a group of many";
  EXPECT_TRUE(opens(1234));
}

TEST_F(PrivateFolder, OfRootIsReadBySettingsAndKeptByNobodyElse) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to become another user";
  ASSERT_EQ(chmod(own_.path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(somebody) != 0) _exit(9);
    if (!open_private_folder(own_.path(), FolderUse::read)) _exit(1);
    if (open_private_folder(own_.path(), FolderUse::keep)) _exit(2);
    _exit(open_private_folder(own_.path(), FolderUse::make) ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(PrivateFolder, OnAFileSystemThatCannotBeWrittenIsSaidToBeMissing) {
  const auto folder = open_private_folder("/proc/none/millrace", FolderUse::make);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message,
              HasSubstr("there is no folder '/proc/none/millrace', and it cannot be created"));
}

// An attacker who may write in the parent folder swaps the folder with a link in a tight loop.
TEST_F(PrivateFolder, IsNeverAnotherOneHoweverFastItIsSwapped) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to be two users";
  const fs::path victim = own_.path() / "victim";
  fs::create_directories(folder_);
  fs::create_directory(victim);
  ASSERT_EQ(chmod(victim.c_str(), 0755), 0);
  struct stat real{};
  ASSERT_EQ(stat(folder_.c_str(), &real), 0);
  const fs::path link = folder_.parent_path() / "link";
  fs::create_directory_symlink(victim, link);
  ASSERT_EQ(lchown(link.c_str(), somebody, somebody), 0);
  std::atomic<bool> done = false;
  std::thread swapper([&] {
    while (!done)
      renameat2(AT_FDCWD, link.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE);
  });
  constexpr int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    const auto folder = open_private_folder(folder_, FolderUse::make);
    struct stat opened{};
    if (folder && (fstat(folder->get(), &opened) != 0 || opened.st_ino != real.st_ino)) {
      ADD_FAILURE() << "another folder in round " << round;
      break;
    }
  }
  done = true;
  swapper.join();
  EXPECT_EQ(mode_of(victim), 0755U);
}

}  // namespace
}  // namespace millrace
