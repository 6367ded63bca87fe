#include "millrace/base/error/clock.h"
#include "millrace/base/socket/acceptor.h"
#include "millrace/base/testing/no_descriptors_testing.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace millrace {
namespace {

// Listens at an address that the kernel chooses.
class Listening {
 public:
  Listening() {
    const sa_family_t unnamed = AF_UNIX;
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&unnamed), sizeof unnamed), 0);
    EXPECT_EQ(listen(socket_.get(), 8), 0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &length_), 0);
  }
  [[nodiscard]] Descriptor take() { return std::move(socket_); }
  // A socket that has connected; closed if that was refused.
  [[nodiscard]] Descriptor client() const {
    Descriptor socket = make();
    const auto* const address = reinterpret_cast<const sockaddr*>(&address_);
    return connect(socket.get(), address, length_) == 0 ? std::move(socket) : Descriptor();
  }

 private:
  static Descriptor make() {
    return Descriptor::owned(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  Descriptor socket_ = make();
  sockaddr_un address_{};
  socklen_t length_ = sizeof address_;
};

TEST(Acceptor, RestsWithoutDescriptorsAndThenLetsInWhoWaited) {
  Listening listening;
  Acceptor acceptor(listening.take());
  const Descriptor guest = listening.client();
  const std::int64_t now = now_ns();
  pollfd waited = acceptor.waited_for(now);
  ASSERT_EQ(poll(&waited, 1, -1), 1) << "a client waits";
  {
    const NoDescriptorsLeft none;
    EXPECT_FALSE(acceptor.next(now).is_open());
  }
  EXPECT_LT(acceptor.waited_for(now).fd, 0) << "poll() would report it at once, for ever";
  EXPECT_GT(acceptor.patience_ms(-1, now), 0);
  EXPECT_LE(acceptor.patience_ms(-1, now), Acceptor::rest_ns / 1'000'000 + 1);
  EXPECT_EQ(acceptor.patience_ms(3, now), 3);
  EXPECT_FALSE(acceptor.next(now).is_open());
  const std::int64_t later = now + Acceptor::rest_ns;
  EXPECT_GE(acceptor.waited_for(later).fd, 0);
  EXPECT_EQ(acceptor.patience_ms(-1, later), -1);
  EXPECT_TRUE(acceptor.next(later).is_open());
}

TEST(Acceptor, DoesNotRestIfNoClientWaits) {
  Listening listening;
  Acceptor acceptor(listening.take());
  EXPECT_FALSE(acceptor.next(now_ns()).is_open());
  EXPECT_GE(acceptor.waited_for(now_ns()).fd, 0);
}

TEST(Acceptor, RestsUntilTheLatestTimeThatItWasGiven) {
  Listening listening;
  Acceptor acceptor(listening.take());
  const Descriptor client = listening.client();
  acceptor.rest_until(300);
  acceptor.rest_until(200);
  EXPECT_EQ(acceptor.rests_until(299), 300);
  EXPECT_FALSE(acceptor.next(299).is_open());
  EXPECT_EQ(acceptor.rests_until(300), std::nullopt);
  EXPECT_TRUE(acceptor.next(300).is_open());
}

TEST(Acceptor, WithoutAListenerClientsAreRefusedAtOnce) {
  Listening listening;
  Acceptor acceptor(listening.take());
  EXPECT_TRUE(listening.client().is_open());
  acceptor.listen_on({});
  EXPECT_FALSE(listening.client().is_open());
  EXPECT_FALSE(acceptor.next(now_ns()).is_open());
  EXPECT_LT(acceptor.waited_for(now_ns()).fd, 0);
}

}  // namespace
}  // namespace millrace
