#include "millrace/base/error/clock.h"
#include "millrace/cluster/live_split/acceptor.h"
#include "millrace/cluster/live_split/endpoint.h"

#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::cluster {
namespace {

// Simulates a process without free descriptors for its lifetime.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorsLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
};

TEST(Acceptor, RestsWithoutDescriptorsAndThenLetsInWhoWaited) {
  Acceptor acceptor(*listen_at_endpoint({"127.0.0.1", 0}));
  const Descriptor guest = *begin_to_connect({"127.0.0.1", acceptor.port()});
  const std::int64_t now = now_ns();
  pollfd waited = acceptor.waited_for(now);
  ASSERT_EQ(poll(&waited, 1, -1), 1) << "somebody waits";
  {
    const NoDescriptorsLeft none;
    EXPECT_FALSE(acceptor.next(now).is_open());
  }
  EXPECT_LT(acceptor.waited_for(now).fd, 0) << "poll() would be told at once, for ever";
  EXPECT_GT(acceptor.patience_ms(-1, now), 0);
  EXPECT_LE(acceptor.patience_ms(-1, now), Acceptor::rest_ns / 1'000'000 + 1);
  EXPECT_EQ(acceptor.patience_ms(3, now), 3);
  EXPECT_FALSE(acceptor.next(now).is_open());
  const std::int64_t later = now + Acceptor::rest_ns;
  EXPECT_GE(acceptor.waited_for(later).fd, 0);
  EXPECT_EQ(acceptor.patience_ms(-1, later), -1);
  EXPECT_TRUE(acceptor.next(later).is_open());
}

TEST(Acceptor, DoesNotRestWhereNobodyWaits) {
  Acceptor acceptor(*listen_at_endpoint({"127.0.0.1", 0}));
  EXPECT_FALSE(acceptor.next(now_ns()).is_open());
  EXPECT_GE(acceptor.waited_for(now_ns()).fd, 0);
}

}  // namespace
}  // namespace millrace::cluster
