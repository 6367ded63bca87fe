#include "millrace/base/file/system_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

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

// Simulates a thread that ends between open and read: a folder can also be opened but not read.
TEST(SystemFile, IsNoneWhereItOpensButCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_system_file(folder.path()), std::nullopt);
  EXPECT_EQ(read_system_file(folder / "missing"), std::nullopt);
}

}  // namespace
}  // namespace millrace
