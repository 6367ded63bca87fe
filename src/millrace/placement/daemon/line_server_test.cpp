#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/no_descriptors_testing.h"
#include "millrace/base/testing/passed_descriptors_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/daemon/line_server.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace millrace::placement {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return std::distance(begin(folder), end(folder));
}

Descriptor connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, address.sun_path);
  auto socket = Descriptor::owned(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

class LineServerTest : public testing::Test {
 protected:
  [[nodiscard]] LineServer serve(LineServer::Answer answer) const {
    return {listen_at(path_, 0600).value(), std::move(answer), LineServer::Limits{}};
  }
  // One round as in run_daemon().
  static void round(LineServer& server, std::int64_t until_ns, int wakes = -1) {
    std::vector<pollfd> waited{{wakes, POLLIN, 0}};
    const std::int64_t now = now_ns();
    server.add_to(waited, now);
    const std::int64_t next = std::min(server.next_ns(now).value_or(until_ns), until_ns);
    poll(waited.data(), waited.size(),
         static_cast<int>(std::max<std::int64_t>(0, (next - now + 999'999) / 1'000'000)));
    server.handle(waited, now_ns());
  }
  // The part of a reply that has arrived.
  static std::string take(const Descriptor& client) {
    std::array<char, 4096> text;
    const ssize_t size = recv(client.get(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }
  static constexpr std::int64_t moment_ns = 20'000'000;

  TemporaryFolder folder_;
  std::string path_ = folder_ / "socket";
};

TEST_F(LineServerTest, KeepsNoDescriptorOpenHoweverManyComeInAMessage) {
  std::vector<bool> passed;
  LineServer server = serve([&](std::string_view, const Peer&, const Descriptor& with) {
    passed.push_back(with.is_open());
    return std::string("a\n");
  });
  const auto file = Descriptor::owned(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto event = Descriptor::owned(eventfd(0, EFD_CLOEXEC));
  const Descriptor client = connected_to(path_);
  round(server, now_ns() + moment_ns);
  const std::ptrdiff_t before = open_descriptors();
  std::size_t sent = 0;
  for (const int number : {file.get(), event.get()})
    for (const std::size_t count : {1U, 2U, 3U, 5U, 100U, 2U, 1U}) {
      send_descriptors(client.get(), "\n", number, count);
      ++sent;
      ASSERT_TRUE(eventually([&] {
        round(server, now_ns() + moment_ns);
        static_cast<void>(take(client));
        return passed.size() == sent;
      }));
      EXPECT_EQ(passed.back(), count == 1) << count;
    }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; })) << open_descriptors() - before;
}

TEST_F(LineServerTest, WithoutDescriptorsItLetsClientsWaitAndDoesNotPollForThem) {
  LineServer server =
      serve([](std::string_view, const Peer&, const Descriptor&) { return std::string("a\n"); });
  const Descriptor client = connected_to(path_);
  {
    const NoDescriptorsLeft none;
    round(server, now_ns() + moment_ns);
  }
  EXPECT_EQ(server.connections(), 0U);
  std::vector<pollfd> waited;
  const std::int64_t now = now_ns();
  server.add_to(waited, now);
  server.handle(waited, now);
  for (const pollfd& one : waited)
    EXPECT_LT(one.fd, 0) << "poll() would report it at once, for ever";
  EXPECT_TRUE(server.next_ns(now));
  EXPECT_TRUE(eventually([&] {
    round(server, now_ns() + moment_ns);
    return server.connections() == 1;
  }));
}

TEST_F(LineServerTest, ALineThatIsTooLongEndsTheConnection) {
  std::vector<std::string> asked;
  LineServer server = serve([&](std::string_view line, const Peer&, const Descriptor&) {
    asked.emplace_back(line);
    return std::string("a\n");
  });
  const Descriptor client = connected_to(path_);
  round(server, now_ns() + moment_ns);
  const std::string text = "fine\n" + std::string(LineServer::Limits().lines.line_bytes + 1, 'x');
  ASSERT_EQ(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  EXPECT_TRUE(eventually([&] {
    round(server, now_ns() + moment_ns);
    return server.connections() == 0;
  }));
  EXPECT_EQ(asked, std::vector<std::string>{"fine"});
}

TEST_F(LineServerTest, AnswersLaterWhatItsUserHasYetToPayFor) {
  constexpr std::int64_t cost_ns = 1'000'000;
  int answers = 0;
  LineServer server = serve([&](std::string_view line, const Peer&, const Descriptor&) {
    const std::int64_t until = thread_cpu_time_ns() + cost_ns;
    while (thread_cpu_time_ns() < until) {
    }
    ++answers;
    return std::string(line) + "\n";
  });
  const Descriptor client = connected_to(path_);
  std::string lines;
  constexpr int count = 40;
  for (int i = 0; i < count; ++i)
    lines += std::to_string(i) + "\n";
  ASSERT_EQ(send(client.get(), lines.data(), lines.size(), MSG_NOSIGNAL), static_cast<ssize_t>(lines.size()));
  const std::int64_t begun = now_ns();
  std::string answered;
  while (answers == 0)
    round(server, now_ns() + moment_ns);
  EXPECT_LT(answers, count / 4) << "others wait for so long";
  ASSERT_TRUE(eventually([&] {
    round(server, now_ns() + moment_ns);
    answered += take(client);
    return answered.size() == lines.size();
  }));
  EXPECT_EQ(answered, lines);
  EXPECT_GT(now_ns() - begun, 4 * count * cost_ns);
}

TEST_F(LineServerTest, TakesAFifthOfACpuHoweverManyConnectionsAreMade) {
  LineServer server =
      serve([](std::string_view, const Peer&, const Descriptor&) { return std::string(2000, 'x') + "\n"; });
  const auto ends = Descriptor::owned(eventfd(0, EFD_CLOEXEC));
  std::atomic<bool> ended = false;
  std::int64_t took_ns = 0;
  std::thread serving([&] {
    while (!ended.load())
      round(server, now_ns() + 10 * moment_ns, ends.get());
    took_ns = thread_cpu_time_ns();
  });
  constexpr std::int64_t flood_ns = 1'500'000'000;
  const std::string requests = [] {
    std::string lines;
    for (int i = 0; i < 50; ++i)
      lines += "{}\n";
    return lines;
  }();
  const std::int64_t begun = now_ns();
  int connections = 0;
  while (now_ns() - begun < flood_ns || connections <= 100) {
    const Descriptor client = connected_to(path_);
    static_cast<void>(send(client.get(), requests.data(), requests.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    static_cast<void>(take(client));
    ++connections;
  }
  const std::int64_t passed_ns = now_ns() - begun;
  ended.store(true);
  constexpr std::uint64_t one = 1;
  EXPECT_EQ(write(ends.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  serving.join();
  // A fifth for what they cause, a fifth for accepting them.
  EXPECT_LT(static_cast<double>(took_ns), 0.4 * static_cast<double>(passed_ns)) << connections;
}

}  // namespace
}  // namespace millrace::placement
