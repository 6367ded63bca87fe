// Names with several addresses. Looking up "two-addresses" gives ::1 and 127.0.0.1, as localhost does on many
// machines.
#include "millrace/cluster/live_split/endpoint.h"

#include <cstring>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

// Replaces the C library's function in the whole test program.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  using LookUp = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto look_up = reinterpret_cast<LookUp>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host == nullptr || std::strcmp(host, "two-addresses") != 0) return look_up(host, service, hints, found);
  if (const int error = look_up("::1", service, hints, found); error != 0) return error;
  addrinfo* last = *found;
  while (last->ai_next != nullptr)
    last = last->ai_next;
  return look_up("127.0.0.1", service, hints, &last->ai_next);
}

namespace millrace::cluster {
namespace {

class TwoAddresses : public testing::TestWithParam<const char*> {};

bool answers(const Descriptor& socket) {
  pollfd waited{socket.get(), POLLOUT, 0};
  return poll(&waited, 1, -1) == 1 && connected(socket.get()).has_value();
}

TEST(Endpoint, AcceptedConnectionsSendSmallMessagesAtOnceAndNoticeASilentPeer) {
  const auto listener = listen_at_endpoint({"127.0.0.1", 0});
  ASSERT_TRUE(listener) << listener.error().message;
  const auto client = begin_to_connect(own_end(listener->get()));
  ASSERT_TRUE(client) << client.error().message;
  pollfd waited{listener->get(), POLLIN, 0};
  ASSERT_EQ(poll(&waited, 1, -1), 1);
  const auto accepted = Descriptor::owned(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  using Option = std::pair<int, int>;
  for (const auto& [level, option] : {Option(IPPROTO_TCP, TCP_NODELAY), Option(SOL_SOCKET, SO_KEEPALIVE),
                                      Option(IPPROTO_TCP, TCP_USER_TIMEOUT)}) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(getsockopt(accepted.get(), level, option, &value, &size), 0);
    EXPECT_NE(value, 0) << option;
  }
}

TEST_P(TwoAddresses, AreBothTriedUntilOneAnswers) {
  const auto listener = listen_at_endpoint({GetParam(), 0});
  if (!listener) GTEST_SKIP() << "SKIPPED: " << listener.error().message;
  const Endpoint named{"two-addresses", own_end(listener->get()).port};
  bool answered = false;
  for (std::size_t attempt = 0; attempt < 2 && !answered; ++attempt) {
    const auto socket = begin_to_connect(named, attempt);
    answered = socket && answers(*socket);
  }
  EXPECT_TRUE(answered);
}

INSTANTIATE_TEST_SUITE_P(OneListens, TwoAddresses, testing::Values("::1", "127.0.0.1"));

TEST(TwoAddressesOfNobody, AreAnErrorThatNamesThePlace) {
  const Endpoint nobody{"two-addresses", 1};
  std::string reason;
  for (std::size_t attempt = 0; attempt < 2; ++attempt) {
    const auto socket = begin_to_connect(nobody, attempt);
    if (!socket) reason = socket.error().message;
    EXPECT_FALSE(socket && answers(*socket));
  }
  if (reason.empty()) return;  // they refuse later, during the wait
  EXPECT_NE(reason.find("two-addresses:1"), std::string::npos) << reason;
}

// One address is taken, as on a machine without IPv6.
TEST(TwoAddressesToListenAt, OneIsEnough) {
  const auto taken = listen_at_endpoint({"::1", 0});
  if (!taken) GTEST_SKIP() << "SKIPPED: " << taken.error().message;
  const auto listener = listen_at_endpoint({"two-addresses", own_end(taken->get()).port});
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ(own_end(listener->get()).host, "127.0.0.1");
}

}  // namespace
}  // namespace millrace::cluster
