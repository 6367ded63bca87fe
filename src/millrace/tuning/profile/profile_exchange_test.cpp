#include "millrace/base/temporary_folder_testing.h"
#include "millrace/tuning/profile/profile_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

const std::vector<KeyedProfile> two{
    {{{"machine", "a"}, {"graph", "blur"}}, {.plan = "tiled", .costs = {{"sliding", 1.25}}}},
    {{{"machine", "b"}, {"graph", "blur"}}, {.plan = "sliding", .costs = {}}}};

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

TEST(ProfileExchange, OfAFileThatIsWrongInOnePlaceNothingIsTaken) {
  const std::string good = export_profiles(two);
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = good;
    return text.replace(text.find(before), before.size(), after);
  };
  for (const std::string& text :
       {std::string("{}"), std::string("[1"), with("millrace.profiles", "other"),
        with("\"version\": 1", "\"version\": 9"), with("1.25", "-1"), with("\"sliding\"", "7"),
        with("\"a\"", "[]"), with("\"plan\": \"tiled\"", "\"pla\": 1")}) {
    const auto read = parse_profiles(text, "f");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::usage);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace millrace::tuning
