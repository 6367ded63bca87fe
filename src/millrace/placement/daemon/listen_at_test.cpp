#include "millrace/base/error/clock.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/daemon/line_server.h"
#include "millrace/placement/daemon/listening_place.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

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

class Listening : public testing::Test {
 protected:
  // Whether a client reaches `listener` at the path.
  static bool is_reached(const std::string& path, const Descriptor& listener) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const auto client = Descriptor::owned(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
    return Descriptor::owned(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)).is_open();
  }
  // The daemon's loop until there is a new socket.
  static std::optional<Descriptor> until_renewed(ListeningPlace& place) {
    for (int round = 0; round < 20; ++round) {
      std::vector<pollfd> waited;
      place.add_to(waited);
      poll(waited.data(), waited.size(), place.next_ns() ? 300 : 5000);
      if (auto again = place.renewed(now_ns())) return again;
    }
    return std::nullopt;
  }
  TemporaryFolder folder_;
};

TEST_F(Listening, GoesOnAfterTheSocketOrItsFolderWasRemovedOrReplaced) {
  const std::string inside = folder_ / "run";
  const std::string path = inside + "/daemon.sock";
  const auto make = [&] { std::filesystem::create_directory(inside); };
  make();
  ListeningPlace place(path, 0600, make);
  auto listener = place.listen();
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_FALSE(place.renewed(now_ns()));
  const std::vector<std::function<void()>> losses{
      [&] { std::filesystem::remove(path); },
      [&] { std::filesystem::rename(path, path + ".old"); },
      [&] { std::filesystem::remove_all(inside); },
      [&] { std::filesystem::rename(inside, inside + ".old"); },
      [&] {
        // A socket to which no process listens any more.
        const auto other = listen_at(inside + "/other", 0600);
        std::filesystem::rename(inside + "/other", path);
      },
  };
  for (std::size_t i = 0; i < losses.size(); ++i) {
    SCOPED_TRACE(i);
    losses[i]();
    EXPECT_FALSE(is_reached(path, *listener));
    auto again = until_renewed(place);
    ASSERT_TRUE(again);
    *listener = std::move(*again);
    EXPECT_TRUE(is_reached(path, *listener));
  }
  // Other files of the folder do not matter.
  std::ofstream(inside + "/file") << "x";
  std::filesystem::remove(inside + "/file");
  EXPECT_FALSE(place.renewed(now_ns()));
  EXPECT_TRUE(is_reached(path, *listener));
}

TEST_F(Listening, LeavesTheNameToAnotherDaemonThatTookIt) {
  const std::string path = folder_ / "daemon.sock";
  std::optional<ListeningPlace> place;
  place.emplace(path, 0600, [] {});
  const auto listener = place->listen();
  ASSERT_TRUE(listener);
  const auto other = listen_at(folder_ / "other", 0600);
  std::filesystem::rename(folder_ / "other", path);
  EXPECT_FALSE(place->renewed(now_ns()));
  place.reset();
  EXPECT_TRUE(is_reached(path, *other));
}

}  // namespace
}  // namespace millrace::placement
