#include "millrace/base/temporary_folder_testing.h"
#include "millrace/placement/daemon/line_server.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

TEST(ListenAt, LetsInWhomTheModeSaysWhateverTheUmask) {
  const TemporaryFolder folder;
  for (const mode_t mask : {0U, 022U, 077U, 0777U})
    for (const mode_t mode : {0600U, 0666U}) {
      const std::string path = folder / fmt::format("{:o}-{:o}", mask, mode);
      const mode_t before = umask(mask);
      const auto socket = listen_at(path, mode);
      EXPECT_EQ(umask(before), mask) << "as it was";
      ASSERT_TRUE(socket) << socket.error().message;
      struct stat status{};
      ASSERT_EQ(stat(path.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & ALLPERMS, mode);
    }
}

}  // namespace
}  // namespace millrace::placement
