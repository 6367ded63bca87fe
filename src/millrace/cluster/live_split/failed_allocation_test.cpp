// Live splits whose threads run out of memory: they end with an error, and the process goes on.
#include "millrace/base/socket/line_channel.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/cluster/live_split/outgoing_link.h"
#include "millrace/cluster/live_split/split_head.h"
#include "millrace/cluster/live_split/split_node.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <new>
#include <optional>
#include <poll.h>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace {

constexpr std::int64_t never = -1;
std::atomic<std::int64_t> until_failure = never;  // allocations of other threads that succeed first
thread_local bool is_tester = false;              // this thread's allocations succeed

bool allocation_fails() {
  if (is_tester) return false;
  std::int64_t left = until_failure.load();
  while (left > 0)
    if (until_failure.compare_exchange_weak(left, left - 1)) return false;
  return left == 0;
}

}  // namespace

#ifndef MILLRACE_SANITIZED
namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (!allocation_fails())
    if (void* memory = std::aligned_alloc(alignment, (std::max(size, alignment) + alignment - 1) / alignment *
                                                         alignment))
      return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete): the analyser takes these for callers of operator delete.
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
// NOLINTEND(clang-analyzer-cplusplus.NewDelete)
#endif

namespace millrace::cluster {
namespace {

// For its lifetime, allocations of all other threads fail after the first few.
class NoMemoryElsewhere {
 public:
  explicit NoMemoryElsewhere(std::int64_t succeeding = 0) {
    is_tester = true;
    until_failure = succeeding;
  }
  ~NoMemoryElsewhere() { until_failure = never; }
  NoMemoryElsewhere(const NoMemoryElsewhere&) = delete;
  NoMemoryElsewhere& operator=(const NoMemoryElsewhere&) = delete;
};

class WithoutMemory : public testing::Test {
 protected:
  void SetUp() override {
#ifdef MILLRACE_SANITIZED
    GTEST_SKIP() << "SKIPPED: the sanitizers have operator new";
#endif
  }
};

TEST_F(WithoutMemory, WhoSendsFramesTellsWhoPutsThem) {
  const video::FrameFormat small = {.width = 6, .height = 4, .chroma = video::Chroma::gray};
  auto link = OutgoingLink::open(
      {.address = {"127.0.0.1", 0}, .job = "job", .token = "secret", .format = small, .window = 1});
  ASSERT_TRUE(link);
  const NoMemoryElsewhere none;
  const Status first = (*link)->put(video::Frame(small));
  const Status second = first ? (*link)->put(video::Frame(small)) : first;
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::failure);
  EXPECT_NE(second.error().message.find("out of memory"), std::string::npos) << second.error().message;
}

TEST_F(WithoutMemory, TheHubTellsTheHead) {
  std::promise<void> failed;
  SplitHub::Options options;
  options.on_failure = [&] { failed.set_value(); };
  SplitHub hub(*listen_at_endpoint({"127.0.0.1", 0}), std::move(options));
  const NoMemoryElsewhere none;
  hub.written(1);
  failed.get_future().wait();
  ASSERT_TRUE(hub.error());
  EXPECT_NE(hub.error()->message.find("out of memory"), std::string::npos) << hub.error()->message;
}

SplitOptions head_of(const std::string& input, const std::string& output) {
  SplitOptions options;
  options.run.pipeline = "blur";
  options.run.input = input;
  options.run.output = output;
  options.run.force = true;
  options.host = "127.0.0.1";
  options.job = "job";
  options.token = "secret";
  options.link_bytes = 1e9;
  return options;
}

TEST_F(WithoutMemory, TheHeadEndsWithAnErrorWhicheverOfItsThreadsMeetsIt) {
  const TemporaryFolder folder;
  constexpr std::int64_t most = 60;  // the hub makes more allocations before it waits for nodes
  for (std::int64_t succeeding = 0; succeeding < most; succeeding += 6) {
    const SplitOptions options = head_of("test:64x48@500", folder / "out.y4m");
    SplitRecord record;
    const NoMemoryElsewhere none(succeeding);
    const Status outcome = run_split(*listen_at_endpoint({"127.0.0.1", 0}), options, record);
    EXPECT_FALSE(outcome) << succeeding;
  }
}

TEST_F(WithoutMemory, TheNodeEndsWithAnError) {
  const machine::MachineReport machine = *machine::inspect_machine();
  const auto context = *run::ExecutionContext::make(machine, 1);
  const Descriptor listener = *listen_at_endpoint({"127.0.0.1", 0});
  is_tester = true;
  std::optional<LineChannel> head;
  std::jthread speaker([&] {
    is_tester = true;
    pollfd waited{listener.get(), POLLIN, 0};
    poll(&waited, 1, -1);
    head.emplace(Descriptor::owned(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    until_failure = 0;
    head->send(
        R"({"say": "welcome", "job": "a job whose name is longer than what a string holds by itself"})");
    while (!head->all_sent() && head->move()) {
    }
  });
  const Status served = serve_split(*context, {.head = own_end(listener.get()), .token = "secret"});
  until_failure = never;
  ASSERT_FALSE(served);
  EXPECT_NE(served.error().message.find("out of memory"), std::string::npos) << served.error().message;
}

}  // namespace
}  // namespace millrace::cluster
