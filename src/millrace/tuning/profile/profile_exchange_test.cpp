#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/tuning/profile/profile_exchange.h"
#include "millrace/tuning/profile/profile_folder.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

ProfileKey key_on(const std::string& machine) {
  return {{"work", "run"}, {"machine", machine}, {"graph", "blur"}};
}

const std::vector<KeyedProfile> two{{key_on("a"), {.plan = "tiled", .costs = {{"sliding", 1.25}}}},
                                    {key_on("b"), {.plan = "sliding", .costs = {}}}};

TEST(ProfileExchange, WhatIsExportedIsImportedAsItWas) {
  const auto read = parse_profiles(export_profiles(two), "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, two);
  EXPECT_TRUE(parse_profiles(export_profiles({}), "f")->empty());
}

TEST(ProfileExchange, WhatAMachineHasLearntItselfStays) {
  const TemporaryFolder folder;
  ProfileStore store = ProfileStore::open(folder / "profiles.db");
  const Profile own{.plan = "backward", .costs = {}};
  ASSERT_TRUE(store.save(two[0].key, own));
  const auto imported = import_profiles(two, store);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->taken, 1);
  EXPECT_EQ(imported->known, 1);
  EXPECT_EQ(**store.load(two[0].key), own);
  EXPECT_EQ(**store.load(two[1].key), two[1].profile);
}

TEST(ProfileExchange, ProfilesOfProgramsDoNotTravel) {
  const KeyedProfile program{{{"work", "exec"}, {"program", "secret-tool"}, {"arguments", "--password x"}},
                             {.plan = "batch", .costs = {}}};
  const std::string text = export_profiles({program, two[0]});
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_EQ(text.find("password"), std::string::npos);
  EXPECT_EQ(parse_profiles(text, "f")->size(), 1U);
  std::string other = export_profiles(two);
  other.replace(other.find("\"run\""), 5, "\"exec\"");
  EXPECT_FALSE(parse_profiles(other, "f"));
}

TEST(ProfileExchange, NothingOfAMachinesOwnMakesRoomForWhatOthersHaveLearnt) {
  const TemporaryFolder folder;
  ProfileStore few = ProfileStore::open(folder / "few.db", {.profiles = 3});
  ProfileStore small = ProfileStore::open(folder / "small.db", {.bytes = 400});
  std::vector<KeyedProfile> many;
  for (int i = 0; i < 20; ++i)
    many.push_back({key_on(fmt::format("other {}", i)), {.plan = "tiled", .costs = {}}});
  for (ProfileStore* store : {&few, &small}) {
    ASSERT_TRUE(store->save(key_on("own"), {.plan = "backward", .costs = {}}));
    const auto imported = import_profiles(many, *store);
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_GT(imported->taken, 0);
    EXPECT_EQ(imported->taken + imported->left_out, 20);
    EXPECT_EQ(store->list()->size(), static_cast<std::size_t>(imported->taken) + 1);
    EXPECT_TRUE(*store->load(key_on("own")));
  }
}

TEST(ProfileExchange, OfAFileThatIsWrongInOnePlaceNothingIsTaken) {
  const std::string good = export_profiles(two);
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = good;
    return text.replace(text.find(before), before.size(), after);
  };
  std::vector<std::string> wrong{"",
                                 "{}",
                                 "[1",
                                 "null",
                                 std::string(100'000, '['),
                                 std::string("\0\xff\xfe", 3),
                                 with("millrace.profiles", "other"),
                                 with("\"version\": 1", "\"version\": 9"),
                                 with("1.25", "-1"),
                                 with("1.25", "1e999"),
                                 with("\"sliding\"", "7"),
                                 with("\"a\"", "[]"),
                                 with("\"a\"", "\"\\u001b[2J\""),
                                 with("\"tiled\"", "\"\\n\""),
                                 with("\"tiled\"", fmt::format("\"{}\"", std::string(300'000, 'x'))),
                                 with("\"plan\": \"tiled\"", "\"pla\": 1")};
  for (std::size_t size = 1; size + 2 < good.size(); size += 7)
    wrong.push_back(good.substr(0, size));
  for (const std::string& text : wrong) {
    const auto read = parse_profiles(text, "f");
    ASSERT_FALSE(read) << text.substr(0, 400);
    EXPECT_EQ(read.error().kind, ErrorKind::usage);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
    EXPECT_LT(read.error().message.size(), 200U);
  }
}

TEST(ProfileFolder, HoldsWhatAnotherMachineHasLearntUnderTheSameKeyAlone) {
  const TemporaryFolder folder;
  const ProfileFolder here(folder.path() / "shared" / "profiles");
  const ProfileFolder there(folder.path() / "shared" / "profiles");
  EXPECT_FALSE(here.load(two[0].key));
  ASSERT_TRUE(there.save(two[0].key, two[1].profile));
  ASSERT_TRUE(there.save(two[0].key, two[0].profile));
  EXPECT_EQ(here.load(two[0].key), two[0].profile);
  EXPECT_FALSE(here.load(two[1].key));
}

TEST(ProfileFolder, AFileThatIsNotWhatWasSavedForTheKeyIsAsGoodAsAbsent) {
  const TemporaryFolder folder;
  const ProfileFolder shared(folder.path());
  for (const std::string& text :
       {std::string("{"), std::string(), export_profiles({two[1]}), export_profiles(two)}) {
    std::ofstream(shared.file(two[0].key)) << text;
    EXPECT_FALSE(shared.load(two[0].key)) << text;
  }
  ASSERT_TRUE(shared.save(two[0].key, two[0].profile));
  EXPECT_EQ(shared.load(two[0].key), two[0].profile);
}

TEST(ProfileFolder, WhereItCannotBeMadeThatIsSaid) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  const Status saved = ProfileFolder(folder.path() / "file" / "profiles").save(two[0].key, two[0].profile);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message.find("profiles are not shared"), std::string::npos);
}

}  // namespace
}  // namespace millrace::tuning
