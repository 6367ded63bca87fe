#include "millrace/opencv/backend/backend_abi.h"
#include "millrace/opencv/call_site.h"
#include "millrace/opencv/loop_runner.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>

namespace millrace::opencv {
namespace {

// Whether each index runs exactly once, over many loops of one site with varying thread counts.
bool covers_once(LoopRunner& loops, int count, int times) {
  for (int i = 0; i < times; ++i) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
    std::atomic<bool> ranks_known = true;
    loops.run(7, count, [&](int begin, int end) {
      if (LoopRunner::rank() < 0 || LoopRunner::rank() >= loops.most()) ranks_known = false;
      for (int at = begin; at < end; ++at)
        ++seen[static_cast<std::size_t>(at)];
    });
    for (const auto& one : seen)
      if (one != 1) return false;
    if (!ranks_known) return false;
  }
  return true;
}

TEST(LoopRunner, RunsEachPartOnceWithAnyNumberOfThreads) {
  for (const int most : {1, 2, 3, 5}) {
    LoopRunner loops(most);
    for (const int count : {1, 2, 3, 17, 1080})
      EXPECT_TRUE(covers_once(loops, count, 40)) << most << " threads, " << count;
    int calls = 0;
    loops.run(1, 0, [&](int, int) { ++calls; });
    EXPECT_EQ(calls, 0);
  }
}

TEST(LoopRunner, RunsALoopWithinALoopInItsOwnThread) {
  LoopRunner loops(3);
  std::atomic<int> sum = 0;
  loops.run(1, 30, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const auto outside = std::this_thread::get_id();
      loops.run(2, 10, [&](int from, int to) {
        if (std::this_thread::get_id() == outside) sum += to - from;
      });
    }
  });
  EXPECT_EQ(sum, 300);
}

TEST(LoopRunner, ThrowsWhatTheBodyThrewOnceAllIsDoneAndGoesOn) {
  LoopRunner loops(2);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(loops.run(1, 100,
                           [](int begin, int end) {
                             if (begin <= 50 && 50 < end) throw std::out_of_range("fifty");
                           }),
                 std::out_of_range);
    EXPECT_TRUE(covers_once(loops, 100, 1));
  }
}

TEST(LoopRunner, ServesThreadsSideBySide) {
  LoopRunner loops(2);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { good += covers_once(loops, 50, 100) ? 1 : 0; });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(good, 4);
}

TEST(LoopRunner, HasThreadsOfItsOwnAfterAFork) {
  LoopRunner loops(2);
  ASSERT_TRUE(covers_once(loops, 50, 20));
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(covers_once(loops, 50, 20) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(LoopRunner, TakesAnotherNumberOfThreadsBetweenLoops) {
  LoopRunner loops(4);
  for (const int most : {1, 3, 2}) {
    loops.set_most(most);
    EXPECT_EQ(loops.most(), most);
    EXPECT_TRUE(covers_once(loops, 60, 20));
  }
  loops.set_most(-1);
  EXPECT_GE(loops.most(), 1);
  // For programs that occasionally ask for one thread: threads are created only once.
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  const auto before = threads();
  for (int i = 0; i < 20; ++i) {
    loops.set_most(1 + i % 2);
    EXPECT_TRUE(covers_once(loops, 60, 3));
  }
  EXPECT_EQ(threads(), before);
}

#ifndef MILLRACE_SANITIZED  // sanitizers keep stack objects elsewhere
// As in OpenCV: a body that runs a part of another one.
struct Inner {
  virtual ~Inner() = default;
  virtual void run(int begin, int end) const = 0;
};
struct First final : Inner {
  void run(int, int) const override {}
};
struct Second final : Inner {
  void run(int, int) const override {}
};
struct Wrapped final : Inner {
  std::function<void(int)> function;
  void run(int begin, int) const override { function(begin); }
};
struct Context {
  const Inner* inner;
};
struct Outer {
  virtual ~Outer() = default;
  explicit Outer(Context& of) : context(of) {}
  Context& context;
};
std::uint64_t site_of(const Inner& inner, int count) {
  Context context{&inner};
  const Outer outer(context);
  return call_site(&outer, count);
}

TEST(CallSite, TellsKindsOfLoopsAndNumbersOfPartsApart) {
  const First first, again;
  const Second second;
  EXPECT_EQ(site_of(first, 10), site_of(again, 10));
  EXPECT_NE(site_of(first, 10), site_of(second, 10));
  EXPECT_NE(site_of(first, 10), site_of(first, 11));
  Wrapped one, other;
  one.function = [](int) {};
  other.function = [](int i) { std::ignore = i + 1; };
  EXPECT_NE(site_of(one, 10), site_of(other, 10));
  EXPECT_EQ(site_of(one, 10), site_of(one, 10));
}

TEST(CallSite, ReadsNothingThatIsNotOnTheStack) {
  const std::uint64_t none = call_site(nullptr, 5);
  EXPECT_EQ(call_site(reinterpret_cast<const void*>(std::uintptr_t{0x1238}), 5), none);
  // On the stack, with a dangling pointer.
  const std::uintptr_t words[2] = {1, 0xdead'beef'0000'0008};
  EXPECT_EQ(call_site(words, 5), none);
  EXPECT_NE(call_site(nullptr, 6), none);
}

// Loads the library itself, as OpenCV does.
TEST(ParallelBackend, IsLoadedAndDoesWhatOpenCvAsksFor) {
  std::istringstream paths(MILLRACE_OPENCV_BACKENDS);
  unsigned major = 4;
  for (std::string path; std::getline(paths, path, ':'); ++major) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    using Entry = const abi::Plugin* (*)(int, int, void*);
    const auto entry = reinterpret_cast<Entry>(dlsym(library, abi::entry));
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry(1, 0, nullptr), nullptr) << "another ABI";
    const abi::Plugin* const plugin = entry(0, 0, nullptr);
    ASSERT_NE(plugin, nullptr);
    EXPECT_EQ(plugin->header.opencv_version_major, major);
    EXPECT_EQ(plugin->header.valid_size, sizeof(abi::Plugin));
    EXPECT_NE(plugin->get_instance(nullptr), 0);
    abi::ParallelFor* backend = nullptr;
    ASSERT_EQ(plugin->get_instance(&backend), 0);
    EXPECT_STREQ(backend->getName(), "millrace");
    EXPECT_GE(backend->getNumThreads(), 1);
    backend->setNumThreads(2);
    EXPECT_EQ(backend->setNumThreads(0), 2);
    EXPECT_EQ(backend->getNumThreads(), 1) << "0 is OpenCV's word for the calling thread alone";
    EXPECT_EQ(backend->setNumThreads(3), 1);
    EXPECT_EQ(backend->getNumThreads(), 3);
    for (int i = 0; i < 50; ++i) {
      std::vector<std::atomic<int>> seen(100);
      backend->parallel_for(
          100,
          [](int begin, int end, void* data) {
            for (int at = begin; at < end; ++at)
              ++(*static_cast<std::vector<std::atomic<int>>*>(data))[static_cast<std::size_t>(at)];
          },
          &seen);
      EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& times) { return times == 1; }));
    }
    for (int i = 0; i < 20; ++i)
      EXPECT_THROW(backend->parallel_for(
                       100,
                       [](int, int end, void*) {
                         if (end > 50) throw std::out_of_range("fifty");
                       },
                       nullptr),
                   std::out_of_range);
    dlclose(library);
  }
  EXPECT_EQ(major, 6U);
}

#endif

}  // namespace
}  // namespace millrace::opencv
