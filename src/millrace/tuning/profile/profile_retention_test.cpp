// Tests which profiles a store deletes, and that its file shrinks.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/tuning/profile/profile_store.h"

#include <memory>
#include <set>
#include <sqlite3.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::tuning {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The schema of version 1.
constexpr const char* version_1 = "PRAGMA journal_mode = WAL;"
                                  "CREATE TABLE profiles (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
                                  " value TEXT NOT NULL, saved_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);"
                                  "PRAGMA user_version = 1";

class ProfileRetentionTest : public ::testing::Test {
 protected:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  using Connection = std::unique_ptr<sqlite3, Close>;

  static ProfileKey key(const std::string& name) { return {{"graph", name}}; }
  static Profile profile(std::size_t bytes = 10) { return {.plan = std::string(bytes, 'p')}; }

  [[nodiscard]] Connection connect() const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    return Connection(database);
  }
  static void execute(const Connection& connection, const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(connection.get(), sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection.get());
  }
  void set_used(const std::string& name, const std::string& when) const {
    execute(connect(), fmt::format("UPDATE profiles SET used_at = datetime('now', '{0}'), "
                                   "saved_at = datetime('now', '{0}') WHERE key LIKE '%\"{1}\"%'",
                                   when, name));
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& field = "graph") const {
    ProfileStore store = ProfileStore::open(path_);
    std::vector<std::string> found;
    const auto stored = store.list();
    EXPECT_TRUE(stored) << stored.error().message;
    for (const StoredProfile& one : *stored)
      found.push_back(one.key.at(field));
    return found;
  }
  // Including the other files of the database.
  [[nodiscard]] std::uintmax_t bytes_on_disk() const {
    std::uintmax_t sum = 0;
    for (const auto& entry : fs::directory_iterator(path_.parent_path()))
      sum += entry.file_size();
    return sum;
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "profiles.db";
};

TEST_F(ProfileRetentionTest, BeyondTheNumberTheOnesUnusedForLongestGo) {
  const ProfileLimits limits{.profiles = 3};
  for (const char* name : {"a", "b", "c", "d"})
    ASSERT_TRUE(ProfileStore::open(path_, limits).save(key(name), profile()));
  EXPECT_THAT(names(), UnorderedElementsAre("b", "c", "d"));
  ASSERT_TRUE(ProfileStore::open(path_, limits).save(key("b"), profile()));  // counts as a use
  ASSERT_TRUE(ProfileStore::open(path_, limits).save(key("e"), profile()));
  EXPECT_THAT(names(), UnorderedElementsAre("b", "d", "e"));
}

TEST_F(ProfileRetentionTest, BeyondTheBytesTheOnesUnusedForLongestGoButNeverTheLatest) {
  const ProfileLimits limits{.bytes = 10'000};
  for (const char* name : {"a", "b", "c", "d"})
    ASSERT_TRUE(ProfileStore::open(path_, limits).save(key(name), profile(3000)));
  EXPECT_THAT(names(), UnorderedElementsAre("b", "c", "d"));
  ASSERT_TRUE(ProfileStore::open(path_, limits).save(key("large"), profile(50'000)));
  EXPECT_THAT(names(), ElementsAre("large"));
}

TEST_F(ProfileRetentionTest, ALoadedProfileIsUsed) {
  const ProfileLimits limits{.unused_days = 30};
  ProfileStore store = ProfileStore::open(path_, limits);
  for (const char* name : {"loaded", "idle", "recent"})
    ASSERT_TRUE(store.save(key(name), profile()));
  set_used("loaded", "-31 days");
  set_used("idle", "-31 days");
  set_used("recent", "-29 days");
  ASSERT_TRUE(store.load(key("loaded"))->has_value());
  ASSERT_TRUE(store.save(key("new"), profile()));
  EXPECT_THAT(names(), UnorderedElementsAre("loaded", "recent", "new"));
}

TEST_F(ProfileRetentionTest, ATimeOfUseInTheFutureDoesNotOutliveAllOthers) {
  const ProfileLimits limits{.profiles = 2};
  ProfileStore store = ProfileStore::open(path_, limits);
  for (const char* name : {"x", "y"})
    ASSERT_TRUE(store.save(key(name), profile()));
  set_used("x", "+4000 days");
  set_used("y", "+4000 days");
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(store.save(key(name), profile()));
    ::usleep(2000);  // times of use have millisecond resolution
  }
  // Profiles that always count as just used share one place.
  EXPECT_EQ(names().size(), 2U);
  EXPECT_THAT(names(), ::testing::Contains("c"));
  set_used("x", "-1 days");
  set_used("y", "-1 days");
  ASSERT_TRUE(store.save(key("d"), profile()));
  ASSERT_TRUE(store.save(key("e"), profile()));
  EXPECT_THAT(names(), UnorderedElementsAre("d", "e"));
}

TEST_F(ProfileRetentionTest, OfABuildAfterBuildOfOneProgramTheLatestStay) {
  const ProfileLimits limits{.builds = 2};
  ProfileStore store = ProfileStore::open(path_, limits);
  for (const char* build : {"1", "2", "3"})
    for (const char* program : {"encoder", "player"})
      ASSERT_TRUE(store.save({{"program", program}, {"build", build}}, profile()));
  ASSERT_TRUE(store.save({{"program", "no build"}}, profile()));
  ASSERT_TRUE(store.save({{"program", "none either"}}, profile()));
  EXPECT_THAT(names("program"),
              UnorderedElementsAre("encoder", "encoder", "player", "player", "no build", "none either"));
  EXPECT_FALSE(store.load({{"program", "encoder"}, {"build", "1"}})->has_value());
  EXPECT_TRUE(store.load({{"program", "encoder"}, {"build", "2"}})->has_value());
}

TEST_F(ProfileRetentionTest, AStoreOfTheEarlierVersionIsBroughtUpToDateBoundedAndShrunk) {
  execute(connect(),
          fmt::format("{}; WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
                      " INSERT INTO profiles (key, value, saved_at) SELECT '{{\"graph\":\"' || i || '\"}}',"
                      " '{{\"version\":1,\"plan\":\"' || hex(zeroblob(2000)) || '\",\"costs\":[]}}',"
                      " datetime('now', '-' || (1000 - i) || ' minutes') FROM n",
                      version_1));
  ASSERT_GT(bytes_on_disk(), 4'000'000U);
  {
    ProfileStore store = ProfileStore::open(path_, {.profiles = 20});
    ASSERT_EQ(store.warning(), "");
    EXPECT_EQ(store.list()->size(), 20U);
    for (const int kept : {981, 1000})
      EXPECT_TRUE(store.load(key(std::to_string(kept)))->has_value()) << kept;
    EXPECT_FALSE(store.load(key("980"))->has_value());
    EXPECT_LT(bytes_on_disk(), 400'000U) << "while it is open";
  }
  EXPECT_LT(bytes_on_disk(), 200'000U);
  EXPECT_EQ(ProfileStore::open(path_).warning(), "");
}

TEST_F(ProfileRetentionTest, ClearingShrinksTheFile) {
  ProfileStore store = ProfileStore::open(path_);
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(store.save(key(std::to_string(i)), profile(20'000)));
  ASSERT_GT(bytes_on_disk(), 1'000'000U);
  ASSERT_EQ(*store.clear(), 50);
  EXPECT_LT(bytes_on_disk(), 200'000U);
}

TEST_F(ProfileRetentionTest, TheFileStaysBoundedHoweverManyAreSaved) {
  ProfileStore store = ProfileStore::open(path_, {.profiles = 10});
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(store.save(key(std::to_string(i)), profile(10'000)));
  store = ProfileStore();
  EXPECT_LT(fs::file_size(path_), 300'000U);  // of 3 MB saved
}

// A database viewer may read for long; the store itself only reads briefly.
TEST_F(ProfileRetentionTest, WhoeverReadsForLongIsNotDisturbedAndTheFileShrinksWhenItHasGone) {
  {
    ProfileStore store = ProfileStore::open(path_);
    for (int i = 0; i < 50; ++i)
      ASSERT_TRUE(store.save(key(std::to_string(i)), profile(20'000)));
    const Connection reader = connect();
    sqlite3_stmt* rows = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(reader.get(), "SELECT value FROM profiles", -1, &rows, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_step(rows), SQLITE_ROW);
    const auto cleared = store.clear();
    ASSERT_FALSE(cleared);
    EXPECT_THAT(cleared.error().message, HasSubstr("locked"));
    int seen = 1;
    while (sqlite3_step(rows) == SQLITE_ROW)
      ++seen;
    EXPECT_EQ(seen, 50);
    sqlite3_finalize(rows);
  }
  ProfileStore store = ProfileStore::open(path_);
  EXPECT_EQ(*store.clear(), 50);
  ASSERT_TRUE(store.save(key("newer"), profile()));
  EXPECT_LT(bytes_on_disk(), 200'000U);
  EXPECT_THAT(names(), UnorderedElementsAre("newer"));
}

TEST_F(ProfileRetentionTest, ManyProcessesMayMigrateAndForgetAtOnce) {
  execute(connect(), fmt::format("{}; INSERT INTO profiles (key, value) VALUES "
                                 "('{{\"graph\":\"old\"}}', '{{\"version\":1,\"plan\":\"p\",\"costs\":[]}}')",
                                 version_1));
  constexpr int processes = 5;
  constexpr int each = 20;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      ProfileStore store = ProfileStore::open(path_, {.profiles = 7, .patience_ms = 20'000});
      if (!store.warning().empty()) ::_exit(1);
      for (int i = 0; i < each; ++i)
        if (!store.save(key(fmt::format("{} {}", p, i)), profile(20'000))) ::_exit(2);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(names().size(), 7U);
}

TEST_F(ProfileRetentionTest, AKeyThatIsNoJsonIsForgottenLikeAnyOther) {
  ProfileStore store = ProfileStore::open(path_, {.profiles = 2});
  ASSERT_TRUE(store.ensure_whole());
  execute(connect(),
          "INSERT INTO profiles (key, value, saved_at) VALUES ('{not json', '', datetime('now', '-1 day'))");
  for (const char* name : {"a", "b"})
    ASSERT_TRUE(store.save(key(name), profile())) << name;
  EXPECT_THAT(names(), UnorderedElementsAre("a", "b"));
}

}  // namespace
}  // namespace millrace::tuning
