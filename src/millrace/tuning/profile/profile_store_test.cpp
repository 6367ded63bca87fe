#include "millrace/base/error/clock.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/tuning/profile/profile_store.h"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <sqlite3.h>
#include <tuple>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

namespace millrace::tuning {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ProfileStoreTest : public ::testing::Test {
 protected:
  static ProfileKey key(int i) { return {{"graph", "blur \"5\", sobel"}, {"number", std::to_string(i)}}; }
  static Profile profile(int i) {
    Profile profile{.plan = "structure=tiled,threads=" + std::to_string(i)};
    for (int c = 0; c < 50; ++c)
      profile.costs.push_back({"structure=s" + std::to_string(c), 1 + 0.125 * c + i});
    return profile;
  }
  static Profile load(ProfileStore& store, int i) {
    const auto loaded = store.load(key(i));
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded && *loaded ? **loaded : Profile{};
  }
  void execute(const char* sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  // Damages a store of 40 profiles but leaves its header intact.
  void damage_inside() const {
    fs::remove(path_);
    {
      ProfileStore store = ProfileStore::open(path_);
      for (int i = 0; i < 40; ++i)
        EXPECT_TRUE(store.save(key(i), profile(i)));
    }
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(20000, '\xff');
  }
  // Runs `work` in a child process and returns its process ID.
  template <class Work> static pid_t in_process(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    return child;
  }

  // For tests with many processes that want the file at once, on a possibly busy machine.
  static constexpr ProfileLimits patient{.patience_ms = 20'000};

  TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "cache" / "profiles.db";
};

TEST_F(ProfileStoreTest, KeepsProfilesFromOneRunToTheNext) {
  for (int i = 0; i < 3; ++i) {
    ProfileStore store = ProfileStore::open(path_);
    ASSERT_EQ(store.warning(), "");
    EXPECT_TRUE(store.save(key(i), profile(i)));
  }
  ProfileStore store = ProfileStore::open(path_);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(load(store, i), profile(i));
  EXPECT_EQ(load(store, 3), Profile{});
}

TEST_F(ProfileStoreTest, WhatHoldsNothingIsOpenedOnlyToWriteAndThenServesAsUsual) {
  ProfileStore one = ProfileStore::open(path_);
  ProfileStore other = ProfileStore::open(path_);
  EXPECT_TRUE(one.holds_nothing() && one.usable());
  EXPECT_EQ(load(one, 1), Profile{});
  EXPECT_EQ(fs::file_size(path_), 0U);
  EXPECT_TRUE(one.save(key(1), profile(1)));
  EXPECT_FALSE(one.holds_nothing());
  EXPECT_EQ(load(one, 1), profile(1));
  EXPECT_TRUE(other.save(key(2), profile(2)));
  EXPECT_EQ(load(other, 1), profile(1));
  EXPECT_FALSE(ProfileStore::open(path_).holds_nothing());
}

TEST_F(ProfileStoreTest, ReplacesTheProfileOfTheSameKey) {
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_TRUE(store.save(key(1), profile(1)));
  EXPECT_TRUE(store.save(key(1), profile(2)));
  EXPECT_EQ(load(store, 1), profile(2));
  EXPECT_EQ(store.list()->size(), 1U);
}

TEST_F(ProfileStoreTest, ListsAndClearsOneOrAll) {
  ProfileStore store = ProfileStore::open(path_);
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(store.save(key(i), profile(i)));
  const auto listed = store.list();
  ASSERT_EQ(listed->size(), 4U);
  for (const StoredProfile& stored : *listed) {
    EXPECT_EQ(stored.saved_at.size(), 19U);
    EXPECT_EQ(stored.key.at("graph"), "blur \"5\", sobel");
    EXPECT_EQ(stored.profile->plan, profile(std::stoi(stored.key.at("number"))).plan);
  }
  EXPECT_EQ(*store.clear(listed->front().id), 1);
  EXPECT_EQ(*store.clear(listed->front().id), 0);
  EXPECT_EQ(*store.clear(), 3);
  EXPECT_TRUE(store.list()->empty());
}

TEST_F(ProfileStoreTest, ManyProcessesMayWriteAtOnce) {
  constexpr int processes = 6;
  constexpr int each = 20;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(in_process([&] {
      ProfileStore store = ProfileStore::open(path_, patient);
      for (int i = 0; i < each; ++i) {
        if (!store.save(key(p * each + i), profile(i)) || !store.save(key(-1), profile(p))) ::_exit(1);
      }
      if (!store.warning().empty()) ::_exit(2);
    }));
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ProfileStore store = ProfileStore::open(path_, patient);
  EXPECT_EQ(store.list()->size(), static_cast<std::size_t>(processes * each + 1));
  for (int i = 0; i < processes * each; ++i)
    EXPECT_EQ(load(store, i), profile(i % each));
}

TEST_F(ProfileStoreTest, AWriterKilledAtAnyMomentLeavesAReadableStore) {
  {
    ProfileStore store = ProfileStore::open(path_, patient);
    EXPECT_TRUE(store.save(key(-1), profile(7)));
  }
  for (int round = 0; round < 25; ++round) {
    const pid_t child = in_process([&] {
      ProfileStore store = ProfileStore::open(path_, patient);
      for (int i = 0;; ++i)
        static_cast<void>(store.save(key(i % 40), profile(i)));
    });
    ::usleep(static_cast<useconds_t>(2000 + 1370 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ProfileStore store = ProfileStore::open(path_, patient);
    ASSERT_EQ(store.warning(), "");
    EXPECT_EQ(load(store, -1), profile(7));
    const auto stored = store.list();
    ASSERT_TRUE(stored) << stored.error().message;
    for (const StoredProfile& one : *stored)
      EXPECT_TRUE(one.profile) << one.profile.error().message;
  }
}

TEST_F(ProfileStoreTest, ADamagedFileIsCopiedAsideAndAFreshOneBegun) {
  fs::create_directories(path_.parent_path());
  for (int i = 1; i <= 2; ++i) {
    const std::string damaged =
        "this is not a database, but it is long enough to be taken for one: " + std::string(200'000, 'x') +
        std::to_string(i);
    std::ofstream(path_, std::ios::trunc) << damaged;
    ProfileStore store = ProfileStore::open(path_);
    const std::string aside = path_.string() + ".damaged-" + std::to_string(i);
    EXPECT_THAT(store.warning(), HasSubstr(aside));
    EXPECT_TRUE(fs::exists(aside));
    EXPECT_EQ(fs::file_size(aside), damaged.size());
    EXPECT_TRUE(store.save(key(i), profile(i)));
    EXPECT_EQ(load(store, i), profile(i));
    EXPECT_EQ(ProfileStore::open(path_).warning(), "");
  }
}

TEST_F(ProfileStoreTest, AFileDamagedInTheMiddleIsNotTakenForWholeByWhoeverUsesIt) {
  const std::vector<std::function<void(ProfileStore&)>> uses = {
      [](ProfileStore& store) { EXPECT_EQ(load(store, 20), Profile{}); },
      [](ProfileStore& store) { EXPECT_TRUE(store.list()->empty()); },
      [](ProfileStore& store) { EXPECT_EQ(*store.clear(), 0); },
      [](ProfileStore& store) { EXPECT_TRUE(store.save(key(1), profile(1))); },
      [](ProfileStore& store) { EXPECT_TRUE(store.ensure_whole()); },
  };
  for (std::size_t use = 0; use < uses.size(); ++use) {
    damage_inside();
    ProfileStore store = ProfileStore::open(path_);
    uses[use](store);
    EXPECT_THAT(store.warning(), HasSubstr("starting afresh")) << use;
    EXPECT_TRUE(store.save(key(1), profile(1)));
    EXPECT_EQ(load(store, 1), profile(1));
    EXPECT_EQ(store.list()->size(), 1U);
    EXPECT_TRUE(ProfileStore::open(path_).ensure_whole());
    EXPECT_TRUE(fs::exists(path_.string() + ".damaged-" + std::to_string(use + 1))) << use;
  }
}

TEST_F(ProfileStoreTest, OthersThatHaveADamagedFileOpenGoOnWithTheFreshOne) {
  damage_inside();
  ProfileStore first = ProfileStore::open(path_);
  ProfileStore second = ProfileStore::open(path_);
  ProfileStore third = ProfileStore::open(path_);
  EXPECT_EQ(load(first, 20), Profile{});
  EXPECT_THAT(first.warning(), HasSubstr("starting afresh"));
  EXPECT_EQ(load(second, 20), Profile{});
  EXPECT_TRUE(second.save(key(2), profile(2)));
  EXPECT_TRUE(third.save(key(3), profile(3)));
  EXPECT_TRUE(first.save(key(1), profile(1)));
  EXPECT_EQ(second.warning() + third.warning(), "");
  EXPECT_EQ(ProfileStore::open(path_).list()->size(), 3U);
  EXPECT_FALSE(fs::exists(path_.string() + ".damaged-2"));
}

// A power failure may leave this: some pages of one save are written, others are not, and each is
// well-formed.
TEST_F(ProfileStoreTest, DamageThatOnlyAStatementMeetsIsReplacedToo) {
  constexpr std::size_t page = 4096;
  const auto bytes_of = [&] {
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::vector<std::function<void(ProfileStore&)>> uses = {
      [](ProfileStore& store) { EXPECT_EQ(load(store, 2), Profile{}); },
      [](ProfileStore& store) { EXPECT_FALSE(store.save(key(2), profile(2))); },
  };
  for (const auto& use : uses) {
    fs::remove(path_);
    EXPECT_TRUE(ProfileStore::open(path_).save(key(1), {.plan = "a"}));
    const std::string before = bytes_of();
    EXPECT_TRUE(ProfileStore::open(path_).save(key(2), {.plan = "a"}));
    std::string after = bytes_of();
    ASSERT_EQ(after.size(), 3 * page) << "a page each for the schema, the profiles and their keys";
    after.replace(page, page, before, page, page);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << after;
    {
      ProfileStore store = ProfileStore::open(path_);
      use(store);
      EXPECT_THAT(store.warning(), HasSubstr("starting afresh"));
    }
    ProfileStore store = ProfileStore::open(path_);
    EXPECT_TRUE(store.save(key(2), profile(2)));
    EXPECT_EQ(load(store, 2), profile(2));
    EXPECT_EQ(store.warning(), "");
  }
}

// SQLite can open it and does not report its problem as damage.
TEST_F(ProfileStoreTest, WhatIsNoStoreOfOursIsReplacedToo) {
  const auto with_byte = [&](std::streamoff at) {
    return [this, at] {
      EXPECT_TRUE(ProfileStore::open(path_).save(key(0), profile(0)));
      std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at).put('\xff');
    };
  };
  const auto with_tables = [&](const char* sql) {
    return [this, sql] {
      EXPECT_TRUE(ProfileStore::open(path_).usable());
      execute(sql);
    };
  };
  int replaced = 0;
  for (const std::function<void()>& make :
       {std::function<void()>(with_byte(47)), std::function<void()>(with_byte(60)),
        std::function<void()>(with_tables("CREATE TABLE x (a); PRAGMA user_version = 2")),
        std::function<void()>(with_tables("CREATE TABLE profiles (a); PRAGMA user_version = 2")),
        std::function<void()>(with_tables("CREATE TABLE profiles (a); PRAGMA user_version = 1")),
        std::function<void()>(with_tables("CREATE TABLE profiles (a)"))}) {
    fs::remove(path_);
    make();
    ++replaced;
    {
      ProfileStore store = ProfileStore::open(path_);
      EXPECT_EQ(load(store, 1), Profile{}) << replaced;
      EXPECT_TRUE(store.save(key(1), profile(1))) << replaced;
      EXPECT_EQ(load(store, 1), profile(1)) << replaced;
      EXPECT_TRUE(fs::exists(path_.string() + ".damaged-" + std::to_string(replaced)));
    }
    EXPECT_EQ(ProfileStore::open(path_).warning(), "") << replaced;
  }
}

TEST_F(ProfileStoreTest, ADamagedFileThatAnotherUsesIsNotSaidToBeDeletedBest) {
  damage_inside();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN; PRAGMA user_version; SELECT count(*) FROM sqlite_schema", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  {
    ProfileStore store = ProfileStore::open(path_);
    EXPECT_EQ(load(store, 20), Profile{});
    EXPECT_FALSE(store.usable());
    EXPECT_THAT(store.warning(),
                AllOf(HasSubstr("another process keeps the file locked"), Not(HasSubstr("delete"))));
    EXPECT_FALSE(fs::exists(path_.string() + ".damaged-1"));
  }
  sqlite3_close(other);
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_EQ(load(store, 20), Profile{});
  EXPECT_THAT(store.warning(), HasSubstr("starting afresh"));
}

TEST_F(ProfileStoreTest, WhatIsFarLargerThanAnyStoreOrALinkIsLeftAlone) {
  fs::create_directories(path_.parent_path());
  std::ofstream(path_) << "no database";
  fs::resize_file(path_, std::uintmax_t{1} << 32);
  EXPECT_THAT(ProfileStore::open(path_).warning(), HasSubstr("far larger than any store"));
  EXPECT_EQ(fs::file_size(path_), std::uintmax_t{1} << 32);
  fs::remove(path_);
  const fs::path target = folder_.path() / "notes.txt";
  std::ofstream(target) << "no database, but somebody's notes" << std::string(600, '.');
  fs::create_symlink(target, path_);
  EXPECT_THAT(ProfileStore::open(path_).warning(), HasSubstr("not a regular file"));
  EXPECT_EQ(fs::file_size(target), 633U);
}

// The two files of a write-ahead log took half of the time that short runs waited for the store.
TEST_F(ProfileStoreTest, WhoeverOnlyLoadsLeavesAndMakesNoOtherFile) {
  const auto files = [&] {
    return std::distance(fs::directory_iterator(path_.parent_path()), fs::directory_iterator());
  };
  {
    ProfileStore store = ProfileStore::open(path_);
    EXPECT_EQ(load(store, 1), Profile{});
    EXPECT_EQ(files(), 1);
    EXPECT_EQ(fs::file_size(path_), 0U) << "tables are made for what is saved";
  }
  EXPECT_TRUE(ProfileStore::open(path_).save(key(1), profile(1)));
  execute("PRAGMA journal_mode = WAL");  // as in earlier versions
  for (int round = 0; round < 2; ++round) {
    ProfileStore store = ProfileStore::open(path_);
    EXPECT_EQ(load(store, 1), profile(1));
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(ProfileStoreTest, WhoeverFindsNoneMayListAndClearNothing) {
  EXPECT_TRUE(ProfileStore::open(path_).list()->empty());
  fs::remove(path_);
  EXPECT_EQ(*ProfileStore::open(path_).clear(), 0);
}

TEST_F(ProfileStoreTest, ManyProcessesThatFindADamagedFileAgreeOnOneFreshOne) {
  fs::create_directories(path_.parent_path());
  std::ofstream(path_) << std::string(5000, 'x');
  constexpr int processes = 6;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(in_process([&] {
      ProfileStore store = ProfileStore::open(path_, patient);
      const Status saved = store.save(key(p), profile(p));
      if (!saved) std::fputs((saved.error().message + "\n").c_str(), stderr);
      if (!store.usable()) std::fputs((store.trouble() + "\n").c_str(), stderr);
      if (!store.usable() || !saved) ::_exit(1);
    }));
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ProfileStore store = ProfileStore::open(path_, patient);
  EXPECT_EQ(store.list()->size(), static_cast<std::size_t>(processes));
  EXPECT_FALSE(fs::exists(path_.string() + ".damaged-2"));
}

TEST_F(ProfileStoreTest, AStoreOfALaterVersionIsLeftAlone) {
  {
    EXPECT_TRUE(ProfileStore::open(path_).save(key(1), profile(1)));
  }
  execute("PRAGMA journal_mode = WAL; PRAGMA user_version = 9");
  {
    ProfileStore store = ProfileStore::open(path_);
    EXPECT_THAT(store.warning(), HasSubstr("version 9"));
    EXPECT_TRUE(store.save(key(2), profile(2)));
    EXPECT_EQ(load(store, 1), Profile{});
  }
  std::ifstream file(path_, std::ios::binary);
  std::string head(20, '\0');
  file.read(head.data(), 20);
  EXPECT_EQ(head.substr(18), "\2\2") << "of a log, as it was";
  execute("PRAGMA user_version = 2");
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_EQ(store.list()->size(), 1U);
}

TEST_F(ProfileStoreTest, AProfileOfAnotherVersionIsIgnoredListedAndReplaced) {
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_TRUE(store.save(key(1), profile(1)));
  execute("UPDATE profiles SET value = '{\"version\": 2, \"strategy\": 5}'");
  EXPECT_EQ(load(store, 1), Profile{});
  EXPECT_THAT(store.list()->front().profile.error().message, HasSubstr("version 2"));
  EXPECT_TRUE(store.save(key(1), profile(1)));
  EXPECT_EQ(load(store, 1), profile(1));
}

TEST_F(ProfileStoreTest, WithoutAPlaceToWriteItWarnsOnceAndKeepsNothing) {
  std::ofstream(folder_ / "file") << "in the way of a directory";
  ProfileStore store = ProfileStore::open(folder_ / "file/profiles.db");
  EXPECT_THAT(store.trouble(), HasSubstr("file' is not a folder"));
  EXPECT_THAT(store.trouble(), Not(HasSubstr("going on")));
  EXPECT_EQ(store.warning(), store.trouble() + "; going on without");
  EXPECT_FALSE(store.usable());
  EXPECT_TRUE(store.save(key(1), profile(1)));
  EXPECT_EQ(load(store, 1), Profile{});
  EXPECT_TRUE(store.list()->empty());
  EXPECT_EQ(*store.clear(), 0);
}

// Locks the file like another process.
class Locked {
 public:
  Locked(const fs::path& path, const char* how) {
    sqlite3_open(path.c_str(), &database_);
    EXPECT_EQ(sqlite3_exec(database_, how, nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~Locked() { sqlite3_close(database_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  sqlite3* database_ = nullptr;
};

TEST_F(ProfileStoreTest, WhoeverFindsItLockedGoesOnSoonAndWaitsOnceOnly) {
  // If every save waited, they would take longer than any test may.
  constexpr int saves = 5000;
  constexpr ProfileLimits limits{.patience_ms = 300};
  EXPECT_TRUE(ProfileStore::open(path_).save(key(1), profile(1)));
  ProfileStore store = ProfileStore::open(path_, limits);
  const Locked other(path_, "BEGIN IMMEDIATE");
  EXPECT_EQ(load(store, 1), profile(1)) << "readers pass";
  const Status saved = store.save(key(1), profile(2));
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message, AllOf(HasSubstr("profiles.db"), HasSubstr("locked")));
  for (int i = 0; i < saves; ++i)
    ASSERT_TRUE(store.save(key(i), profile(2)));
  EXPECT_FALSE(store.usable());
}

TEST_F(ProfileStoreTest, OneThatIsLockedFromTheBeginningIsSaidToBe) {
  fs::create_directories(path_.parent_path());
  const Locked other(path_, "CREATE TABLE t (x); BEGIN EXCLUSIVE");
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_FALSE(store.usable());
  EXPECT_THAT(store.trouble(), AllOf(HasSubstr("profiles.db"), HasSubstr("another process")));
}

TEST_F(ProfileStoreTest, OneThatIsLockedSinceItWasOpenedSaysSo) {
  EXPECT_TRUE(ProfileStore::open(path_).save(key(1), profile(1)));
  for (const bool lists : {false, true}) {
    ProfileStore store = ProfileStore::open(path_);
    const Locked other(path_, "BEGIN EXCLUSIVE");
    const std::string why =
        lists ? store.list().error().message : store.save(key(2), profile(2)).error().message;
    EXPECT_THAT(why, HasSubstr("another process"));
    EXPECT_FALSE(store.usable());
    EXPECT_TRUE(store.save(key(2), profile(2))) << "and no more than once";
    EXPECT_EQ(store.warning(), "");
  }
}

// Root can write regardless of the mode, so the store is opened as another user.
TEST_F(ProfileStoreTest, WhyAFileThatCannotBeWrittenIsOfNoUseIsSaid) {
  constexpr uid_t nobody = 65534;
  const bool root = ::geteuid() == 0;
  fs::create_directories(path_.parent_path());
  execute("CREATE TABLE t (x)");
  if (root) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    ASSERT_EQ(::chown(path_.c_str(), nobody, nobody), 0);
    ASSERT_EQ(::chown(path_.parent_path().c_str(), nobody, nobody), 0);
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  ASSERT_EQ(::chmod(path_.parent_path().c_str(), 0500), 0);
  const pid_t child = in_process([&] {
    if (root && ::setresuid(nobody, nobody, nobody) != 0) ::_exit(9);
    const ProfileStore store = ProfileStore::open(path_);
    std::fputs((store.trouble() + "\n").c_str(), stderr);
    if (store.usable()) ::_exit(1);
    if (store.trouble().find("readonly") == std::string::npos) ::_exit(2);
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::chmod(path_.parent_path().c_str(), 0700);
}

TEST(Profile, SurvivesItsOwnText) {
  const Profile profile{.plan = "a=1", .costs = {{"a=2", 1.0625}, {"a=\"3\"\n", 1e-3}}};
  EXPECT_EQ(parse_profile(to_text(profile)).value(), profile);
}

TEST(Profile, IsWrittenAsJsonIs) {
  const Profile profile{.plan = "a \"plan\"\n\x01 \xff", .costs = {{"b\\", 1.25}, {"c", 1e-300}}};
  nlohmann::json costs = nlohmann::json::array();
  for (const Profile::Cost& cost : profile.costs)
    costs.push_back({{"candidate", cost.candidate}, {"ratio", cost.ratio}});
  const nlohmann::json json = {{"version", 1}, {"plan", profile.plan}, {"costs", costs}};
  EXPECT_EQ(to_text(profile), json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  EXPECT_EQ(to_text(Profile{.plan = "p", .costs = {}}), R"({"costs":[],"plan":"p","version":1})");
  for (const ProfileKey& key : {ProfileKey{}, ProfileKey{{"z", "1"}, {"a \"b\"", "\xff\n"}}})
    EXPECT_EQ(to_text(key), key.empty() ? "{}"
                                        : nlohmann::json(key).dump(-1, ' ', false,
                                                                   nlohmann::json::error_handler_t::replace));
}

TEST(Profile, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{}", "{\"version\":1}", "{\"version\":1,\"plan\":3,\"costs\":[]}",
                           "{\"version\":1,\"plan\":\"a\",\"costs\":[1]}",
                           "{\"version\":1,\"plan\":\"a\",\"costs\":[{\"candidate\":\"b\",\"ratio\":0}]}"}) {
    EXPECT_FALSE(parse_profile(text)) << text;
  }
}

TEST(Profile, KeepsWhatTheSpaceStillHas) {
  const auto space = Space::make({{"threads", {"1", "2"}}}, [](auto) { return true; });
  const Profile profile{.plan = "threads=2", .costs = {{"threads=1", 1.5}, {"threads=4", 0.5}}};
  const auto remembered = from_profile(profile, *space);
  ASSERT_TRUE(remembered);
  EXPECT_EQ(remembered->incumbent, 1);
  ASSERT_EQ(remembered->costs.size(), 1U);
  EXPECT_EQ(to_profile(*remembered, *space), (Profile{.plan = "threads=2", .costs = {{"threads=1", 1.5}}}));
  EXPECT_FALSE(from_profile({.plan = "threads=4"}, *space));
}

TEST_F(ProfileStoreTest, IsReadByNobodyElse) {
  const auto mode_of = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  const mode_t before = ::umask(0);
  fs::create_directories(path_.parent_path());
  std::ofstream(path_).close();  // as in earlier versions
  EXPECT_EQ(mode_of(path_), 0666U);
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_TRUE(store.save(key(1), profile(1)));
  ::umask(before);
  EXPECT_EQ(mode_of(path_.parent_path()), 0700U);
  for (const auto& entry : fs::directory_iterator(path_.parent_path()))
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
}

TEST_F(ProfileStoreTest, LeavesWhatLinksLeadToAsItIs) {
  const fs::path diary = folder_.path() / "diary";
  fs::create_directories(path_.parent_path());
  std::ofstream(diary) << "monday";
  const auto readable = fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    fs::permissions(diary, readable);
    fs::create_symlink(diary, path_.string() + suffix);
    std::ignore = ProfileStore::open(path_);
    EXPECT_EQ(fs::status(diary).permissions(), readable) << suffix;
    fs::remove(path_.string() + suffix);
    fs::remove(path_);
  }
}

// Opening one of these would block forever.
TEST_F(ProfileStoreTest, DoesWithoutWhereSomethingElseHasItsNames) {
  const fs::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(chmod(pipe.c_str(), 0606), 0);
  fs::create_directories(path_.parent_path());
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    for (const bool link : {false, true}) {
      const fs::path name = path_.string() + suffix;
      if (link)
        fs::create_symlink(pipe, name);
      else
        ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
      ProfileStore store = ProfileStore::open(path_);
      EXPECT_FALSE(store.usable());
      EXPECT_THAT(store.warning(), AllOf(HasSubstr(name.string()), HasSubstr("not a regular file")));
      EXPECT_TRUE(store.save(key(1), profile(1)));
      fs::remove(name);
      fs::remove(path_);
    }
  }
  EXPECT_NE(fs::status(pipe).permissions() & fs::perms::others_write, fs::perms::none);
}

TEST_F(ProfileStoreTest, OfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a folder away";
  fs::create_directories(path_.parent_path());
  ASSERT_EQ(::chown(path_.parent_path().c_str(), 65534, 65534), 0);
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_FALSE(store.usable());
  EXPECT_THAT(store.warning(), HasSubstr("belongs to user 65534"));
  EXPECT_TRUE(fs::is_empty(path_.parent_path()));
}

}  // namespace
}  // namespace millrace::tuning
