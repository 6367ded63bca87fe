#include "millrace/base/system_file.h"
#include "millrace/base/temporary_folder_testing.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(SystemFile, IsReadAsAWhole) {
  const TemporaryFolder folder;
  const std::string text = std::string(10000, 'a') + '\0' + "b\n";
  make_file(folder / "long", text);
  EXPECT_EQ(read_system_file(folder / "long"), text);
  make_file(folder / "empty", "");
  EXPECT_EQ(read_system_file(folder / "empty"), "");
}

// As of a thread that ends between the two; a folder opens, too.
TEST(SystemFile, IsNoneWhereItOpensButCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_system_file(folder.path()), std::nullopt);
  EXPECT_EQ(read_system_file(folder / "missing"), std::nullopt);
}

}  // namespace
}  // namespace millrace
