#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/daemon/daemon_client.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace millrace::placement {
namespace {

using testing::HasSubstr;

// A socket that listens with the shortest queue.
class ShortQueue {
 public:
  ShortQueue() {
    address_.sun_family = AF_UNIX;
    std::ranges::copy(path(), address_.sun_path);
    EXPECT_EQ(bind(listener_.get(), generic(), sizeof address_), 0);
    EXPECT_EQ(listen(listener_.get(), 0), 0);
  }
  [[nodiscard]] std::string path() const { return folder_.path() / "daemon.sock"; }

  void fill() {
    while (true) {
      auto client = Descriptor::owned(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (connect(client.get(), generic(), sizeof address_) != 0) break;
      clients_.push_back(std::move(client));
    }
    EXPECT_EQ(errno, EAGAIN);
  }
  void accept_one() { accepted_.push_back(Descriptor::owned(accept(listener_.get(), nullptr, nullptr))); }

 private:
  [[nodiscard]] const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address_); }

  TemporaryFolder folder_;
  sockaddr_un address_{};
  Descriptor listener_ = Descriptor::owned(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::vector<Descriptor> clients_;
  std::vector<Descriptor> accepted_;
};

TEST(DaemonClient, WaitsForRoomInTheQueueOfADaemonThatOthersFlood) {
  ShortQueue queue;
  queue.fill();
  Result<DaemonClient> client = failure("not asked yet");
  std::thread asks([&] { client = DaemonClient::connect(queue.path()); });
  // Whether it waits already or not, there is room from now on.
  queue.accept_one();
  asks.join();
  EXPECT_TRUE(client) << client.error().message;
}

TEST(DaemonClient, NamesTheSocketOfADaemonThatIsTooBusyAndStartsNoOther) {
  ShortQueue queue;
  queue.fill();
  const auto client = DaemonClient::connect(queue.path(), std::chrono::milliseconds(20));
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr(queue.path() + " is too busy"));
  EXPECT_THAT(client.error().message, Not(HasSubstr("start one")));
}

TEST(DaemonClient, NamesEverySocketWhereItLookedInVain) {
  const TemporaryFolder folder;
  const auto client = DaemonClient::connect(folder.path() / "none");
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr((folder.path() / "none").string() + "; start one"));
}

}  // namespace
}  // namespace millrace::placement
