#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/dispatch/millrace_dispatch.h"
#include "millrace/intensity/sample/thread_sampler.h"
#include "millrace/placement/daemon/daemon_client.h"
#include "millrace/placement/daemon/daemon_request.h"
#include "millrace/placement/daemon/daemon_testing.h"
#include "millrace/placement/daemon/line_server.h"
#include "millrace/placement/daemon/run_daemon.h"
#include "millrace/placement/task/children.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using nlohmann::json;

// A daemon in a child process.
class RunningDaemon {
 public:
  RunningDaemon(const TemporaryFolder& folder, const DaemonSettings& settings)
      : socket_(folder / "daemon.sock"), number_(fork()) {
    if (number_ == 0) {
      // Like its service; fails without root. The programs here compute without pause.
      setpriority(PRIO_PROCESS, 0, -10);
      DaemonRun run;
      run.daemon.settings = settings;
      run.daemon.state = folder / "state";
      run.daemon.topology = two_cores;
      run.socket = socket_;
      _exit(run_daemon(std::move(run)) ? 0 : 1);
    }
    EXPECT_TRUE(eventually([&] { return DaemonClient::connect(socket_).has_value(); }));
  }
  ~RunningDaemon() { std::ignore = end(SIGTERM); }
  RunningDaemon(const RunningDaemon&) = delete;
  RunningDaemon& operator=(const RunningDaemon&) = delete;

  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] pid_t number() const { return number_; }
  [[nodiscard]] pid_t guardian() const {
    for (const pid_t child : list_children(number_))
      return child;
    return -1;
  }
  Result<json> ask(std::string_view method, const json& parameters, const Descriptor& process = {}) const {
    auto client = DaemonClient::connect(socket_);
    if (!client) return std::unexpected(client.error());
    return client->ask(method, parameters, process);
  }
  bool watch(pid_t process) const {
    return ask("Watch", {{"pid", process}}, open_process(process)).has_value();
  }
  // Its wait status.
  int end(int signal) {
    int status = -1;
    if (number_ <= 0) return status;
    kill(number_, signal);
    waitpid(number_, &status, 0);
    number_ = -1;
    return status;
  }

 private:
  std::string socket_;
  pid_t number_ = -1;
};

class RunDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    if (machine::current_thread_affinity()->count() < 2) GTEST_SKIP() << "one CPU";
  }
  TemporaryFolder folder_;
};

TEST_F(RunDaemonTest, AnswersUntilItIsAskedToEnd) {
  RunningDaemon daemon(folder_, {});
  const auto info = daemon.ask("GetInfo", json::object());
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ((*info)["interfaces"][1], daemon_interface);
  const ForkedProcess process;
  EXPECT_TRUE(daemon.watch(process.number()));
  auto client = DaemonClient::connect(daemon.socket());
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i)  // several requests over one connection
    EXPECT_EQ(client->ask("Status", json::object())->at("programs").size(), 1);
  EXPECT_FALSE(client->ask("Explain", {{"program", "nobody"}}));
  const auto second = listen_at(daemon.socket(), 0600);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("another daemon listens"));
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  EXPECT_FALSE(DaemonClient::connect(daemon.socket()));
  EXPECT_TRUE(is_left_empty(folder_.path()));
}

TEST_F(RunDaemonTest, IsReachedAgainAfterItsSocketWasRemoved) {
  RunningDaemon daemon(folder_, {});
  for (int i = 0; i < 3; ++i) {
    std::filesystem::remove(daemon.socket());
    EXPECT_TRUE(eventually([&] { return DaemonClient::connect(daemon.socket()).has_value(); }));
  }
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  EXPECT_TRUE(is_left_empty(folder_.path()));
}

TEST_F(RunDaemonTest, GivesBackWhenItIsKilledAlsoAfterItsFolderWasRemoved) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  RunningDaemon daemon(folder_, acting_at_once());
  const ForkedProcess one(compute_floats_beside_another);
  const ForkedProcess other(compute_floats_beside_another);
  ASSERT_TRUE(daemon.watch(one.number()));
  ASSERT_TRUE(daemon.watch(other.number()));
  const auto bound = [&](int count) {
    return machine::thread_affinity(one.number())->count() == count &&
           machine::thread_affinity(other.number())->count() == count;
  };
  ASSERT_TRUE(eventually([&] { return bound(1); }));
  std::filesystem::remove_all(folder_ / "state");
  ASSERT_TRUE(eventually([&] { return bound(1) && processes_told_of(folder_ / "state") == 2; }));
  daemon.end(SIGKILL);
  const int all = machine::current_thread_affinity()->count();
  EXPECT_TRUE(eventually([&] { return bound(all); }));
}

// Programs that place themselves with libmillrace_dispatch look for it there.
TEST_F(RunDaemonTest, TellsLibmillraceDispatchWhichThreadsItKeepsWhere) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  constexpr int patience_ms = 60'000;
  setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  std::filesystem::create_directory(folder_ / "millrace");
  RunningDaemon daemon(folder_, acting_at_once());
  std::filesystem::create_symlink(daemon.socket(), folder_ / "millrace/daemon.sock");
  std::array<millrace_dispatch_placed, 64> placed{};
  EXPECT_EQ(millrace_dispatch_get_placement(placed.data(), 64, patience_ms), 0);
  const ForkedProcess one(compute_floats_beside_another);
  const ForkedProcess other(compute_floats_beside_another);
  ASSERT_TRUE(daemon.watch(one.number()));
  ASSERT_TRUE(daemon.watch(other.number()));
  EXPECT_TRUE(eventually([&] {
    const int count = millrace_dispatch_get_placement(placed.data(), 64, patience_ms);
    return std::ranges::any_of(placed.begin(), placed.begin() + count, [&](const auto& thread) {
      const auto mask = machine::thread_affinity(thread.thread);
      if (thread.thread != one.number() || thread.process != one.number() || !mask) return false;
      const int cpu = mask->lowest();
      return mask->count() == 1 && thread.kept_on[cpu / 64] == 1ULL << (cpu % 64) && thread.busy > 0;
    });
  }));
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  EXPECT_EQ(millrace_dispatch_get_placement(placed.data(), 64, patience_ms), 0);
  unsetenv("XDG_RUNTIME_DIR");
}

Descriptor raw_connection(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path, address.sun_path);
  auto socket = Descriptor::owned(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

void say(const Descriptor& socket, std::string_view text) {
  std::ignore = send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

TEST_F(RunDaemonTest, AnswersOthersWhateverSomeClientsDo) {
  RunningDaemon daemon(folder_, {});
  const ForkedProcess process;
  ASSERT_TRUE(daemon.watch(process.number()));
  // Fewer than one user's limit, so that the next client is accepted as well.
  std::vector<Descriptor> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(raw_connection(daemon.socket()));
    say(silent.back(), std::string(static_cast<std::size_t>(i), '{'));  // part of a message
  }
  const auto flood = raw_connection(daemon.socket());
  for (int i = 0; i < 1000; ++i)  // replies that are never read
    std::ignore = send(flood.get(), "{}\n{}\n{}\n{}\n", 12, MSG_NOSIGNAL | MSG_DONTWAIT);
  const auto endless = raw_connection(daemon.socket());
  for (int i = 0; i < 40; ++i)
    std::ignore = send(endless.get(), std::string(4096, ' ').data(), 4096, MSG_NOSIGNAL | MSG_DONTWAIT);
  const auto status = daemon.ask("Status", json::object());
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->at("programs").size(), 1);
  std::array<char, 8> rest;
  EXPECT_TRUE(eventually([&] {
    const ssize_t size = recv(endless.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno == ECONNRESET);
  }));
}

TEST_F(RunDaemonTest, LetsInOnlySoManyConnectionsOfOneUser) {
  RunningDaemon daemon(folder_, {});
  std::vector<Descriptor> open;
  constexpr int more_than_enough = 80;
  for (int i = 0; i < more_than_enough; ++i)
    open.push_back(raw_connection(daemon.socket()));
  EXPECT_TRUE(eventually([&] {
    std::array<char, 256> text{};
    return recv(open.back().get(), text.data(), text.size() - 1, MSG_DONTWAIT) > 0 &&
           std::string_view(text.data()).find("TooMany") != std::string_view::npos;
  }));
  EXPECT_FALSE(daemon.ask("Status", json::object()));
  open.clear();
  EXPECT_TRUE(eventually([&] { return daemon.ask("Status", json::object()).has_value(); }));
}

TEST_F(RunDaemonTest, TakesTenThousandConnectionsInARow) {
  RunningDaemon daemon(folder_, {});
  const char* const soak = std::getenv("MILLRACE_SOAK");
  const int connections = soak == nullptr ? 500 : 10000;
  int made = 0;
  for (int i = 0; i < connections; ++i) {
    const auto socket = raw_connection(daemon.socket());
    made += socket.is_open() ? 1 : 0;
    if (i % 3 != 0) say(socket, i % 3 == 1 ? "{\"method\":" : "{}\n");
  }
  EXPECT_EQ(made, connections);
  EXPECT_TRUE(eventually([&] { return daemon.ask("Status", json::object()).has_value(); }));
  EXPECT_EQ(daemon.end(SIGTERM), 0);
}

// Threads and processes that compute a little, begin and end.
[[noreturn]] void make_others(int before, std::chrono::milliseconds rest) {
  while (true) {
    for (int i = 0; i < before; ++i)
      compute_floats();
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      compute_floats();
      _exit(0);
    }
    std::thread(compute_floats).join();
    waitpid(child, nullptr, 0);
    std::this_thread::sleep_for(rest);
  }
}

// Every tenth program computes enough to be placed. Twenty of them use about one CPU.
bool computes(std::size_t program) { return program % 10 == 0; }
std::unique_ptr<ForkedProcess> start_program(std::size_t number) {
  return std::make_unique<ForkedProcess>([number] {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!computes(number)) make_others(1, std::chrono::milliseconds(600));
    setpriority(PRIO_PROCESS, 0, -5);  // preferred to the others; fails without root
    const std::jthread other([] {
      while (true) {
        compute_floats();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
    make_others(3, std::chrono::milliseconds(20));
  });
}

std::vector<pid_t> with_descendants(pid_t process) {
  std::vector<pid_t> all{process};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const pid_t child : list_children(all[i]))
      all.push_back(child);
  return all;
}

// Number of the programs' threads whose mask differs from this process's.
int bound_threads(const std::vector<std::unique_ptr<ForkedProcess>>& programs) {
  const CpuSet all = machine::current_thread_affinity().value();
  int bound = 0;
  for (const auto& program : programs)
    for (const pid_t process : with_descendants(program->number()))
      for (const pid_t thread : list_threads(process))
        if (const auto mask = machine::thread_affinity(thread); mask && *mask != all) ++bound;
  return bound;
}

// MILLRACE_SOAK: the number of kills, with 20 programs (`make soak-daemon`).
TEST_F(RunDaemonTest, WhenItIsKilledAllThreadsHaveWhatTheyHad) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  const char* const soak = std::getenv("MILLRACE_SOAK");
  const int kills = soak == nullptr ? 2 : parse_number<int>(soak).value_or(200);
  const std::size_t count = soak == nullptr ? 2 : 20;
  std::mt19937 random(1);
  std::vector<std::unique_ptr<ForkedProcess>> programs;
  for (std::size_t i = 0; i < count; ++i)
    programs.push_back(start_program(i));
  int kills_with_bound = 0;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    RunningDaemon daemon(folder_, acting_at_once());
    for (const auto& program : programs)
      // The guardian of the previous daemon may still be busy with births.
      ASSERT_TRUE(eventually([&] { return daemon.watch(program->number()); }));
    // One program ends and another begins.
    std::size_t other = random() % count;
    other += computes(other) ? 1 : 0;
    programs[other] = start_program(other);
    EXPECT_TRUE(daemon.watch(programs[other]->number()));
    const unsigned longest_us = soak == nullptr ? 400'000 : 3'000'000;
    usleep(random() % longest_us);
    // With few kills, each must find something to restore. With many, some hit every moment from the start
    // on.
    int bound = 0;
    const auto binds = [&] { return (bound = bound_threads(programs)) > 0; };
    if (soak == nullptr) {
      ASSERT_TRUE(eventually(binds));
    } else {
      std::ignore = binds();
    }
    // Every second time the guardian is killed too, so that only the next daemon can restore.
    const bool both = kill_number % 2 == 1;
    const pid_t guardian = daemon.guardian();
    ASSERT_GT(guardian, 0);
    kills_with_bound += bound > 0 ? 1 : 0;
    if (soak != nullptr)
      std::cout << "kill " << kill_number + 1 << (both ? " with its guardian" : "") << ": " << bound
                << " threads were bound" << std::endl;
    if (both) kill(guardian, SIGKILL);
    daemon.end(SIGKILL);
    std::optional<RunningDaemon> next;
    if (both) next.emplace(folder_, DaemonSettings());
    EXPECT_TRUE(eventually([&] { return bound_threads(programs) == 0; })) << "kill " << kill_number;
  }
  EXPECT_GT(kills_with_bound, 0);
  programs.clear();
  EXPECT_TRUE(eventually([&] {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "state", gone))
      if (entry.path().extension() == ".journal") return false;
    return true;
  }));
}

}  // namespace
}  // namespace millrace::placement
