#include "millrace/base/testing/eventually_testing.h"
#include "millrace/intensity/sample/code_reader.h"
#include "millrace/intensity/sample/program_code.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <optional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::intensity {
namespace {

constexpr std::size_t page_bytes = CodeBytes::page_bytes;
constexpr CodeReader::Limits soon{
    .patience_ns = 20'000'000, .user_rests_ns = 50'000'000, .given_up_ns = 60'000'000};

// Another process, with a page that never arrives: reading it blocks until that process has ended.
class WithPageThatNeverComes {
 public:
  WithPageThatNeverComes() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    number_ = fork();
    if (number_ == 0) {
      void* const address = waiting_page();
      static_cast<void>(write(ends[1], &address, sizeof address));
      while (true)
        pause();
    }
    close(ends[1]);
    if (read(ends[0], &address_, sizeof address_) != sizeof address_) address_ = nullptr;
    close(ends[0]);
  }
  ~WithPageThatNeverComes() {
    kill(number_, SIGKILL);
    waitpid(number_, nullptr, 0);
  }
  WithPageThatNeverComes(const WithPageThatNeverComes&) = delete;
  WithPageThatNeverComes& operator=(const WithPageThatNeverComes&) = delete;

  [[nodiscard]] bool works() const { return address_ != nullptr; }
  [[nodiscard]] LivingThread thread() const { return {number_, number_}; }
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(address_); }

 private:
  // Null if this user may not have one.
  static void* waiting_page() {
    const auto faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) return nullptr;
    void* const page = mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register range{.range = {.start = reinterpret_cast<std::uint64_t>(page), .len = page_bytes},
                          .mode = UFFDIO_REGISTER_MODE_MISSING,
                          .ioctls = 0};
    return page == MAP_FAILED || ioctl(faults, UFFDIO_REGISTER, &range) != 0 ? nullptr : page;
  }

  pid_t number_ = -1;
  void* address_ = nullptr;
};

std::uint64_t page_of(const void* place) {
  return reinterpret_cast<std::uint64_t>(place) & ~(page_bytes - 1);
}
LivingThread own() { return {gettid(), getpid()}; }

bool reads_own(CodeReader& reader) {
  static const int something = 4711;
  CodeBytes::Page page;
  return reader.read(own(), page_of(&something), page);
}

TEST(CodeReader, ReadsWhatIsThere) {
  CodeReader reader;
  alignas(page_bytes) static std::array<char, page_bytes> text{"machine code"};
  CodeBytes::Page page;
  ASSERT_TRUE(eventually([&] { return reader.read(own(), page_of(text.data()), page); }));
  EXPECT_EQ(std::memcmp(page.data(), text.data(), page_bytes), 0);
  EXPECT_FALSE(reader.read(own(), 0, page));
  EXPECT_TRUE(reads_own(reader)) << "as before";
}

TEST(CodeReader, GivesAProgramUpWhosePageNeverComesAndGoesOnWithOthers) {
  const WithPageThatNeverComes program;
  if (!program.works()) GTEST_SKIP() << "this user may not handle page faults (vm.unprivileged_userfaultfd)";
  CodeReader reader(read_code_page, soon);
  ASSERT_TRUE(eventually([&] { return reads_own(reader); }));
  CodeBytes::Page page;
  EXPECT_FALSE(reader.read(program.thread(), program.address(), page));
  ASSERT_TRUE(eventually([&] {
    EXPECT_FALSE(reader.read(program.thread(), program.address(), page));
    return reader.gave_up(program.thread().process);
  }));
  EXPECT_TRUE(eventually([&] { return reads_own(reader); }));
  reader.keep_only({});
  EXPECT_FALSE(reader.gave_up(program.thread().process));
}

// Reads in other processes. The first waits until it is let go, like that of a page that arrives late.
struct Reads {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::atomic<bool> first_may_end = false;
};
class SharedReads {
 public:
  SharedReads()
      : reads_(static_cast<Reads*>(
            mmap(nullptr, sizeof(Reads), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (reads_) Reads();
  }
  ~SharedReads() { munmap(reads_, sizeof(Reads)); }
  SharedReads(const SharedReads&) = delete;
  SharedReads& operator=(const SharedReads&) = delete;
  [[nodiscard]] Reads& get() const { return *reads_; }

 private:
  Reads* reads_;
};

// Whatever a user's programs do, the caller waits only a small share of the time.
TEST(CodeReader, ReadsNothingOfAUserForAWhileAfterAPageOfThatUserCameLate) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  for (const bool rests : {true, false}) {
    const SharedReads shared;
    Reads& reads = shared.get();
    CodeReader reader(
        [&reads](pid_t, std::uint64_t, CodeBytes::Page&) {
          const bool first = ++reads.begun == 1;
          while (first && !reads.first_may_end)
            usleep(1000);
          ++reads.ended;
          return true;
        },
        {.patience_ns = 5'000'000, .user_rests_ns = rests ? hour_ns : 1, .given_up_ns = hour_ns});
    CodeBytes::Page page;
    const auto read = [&] { return reader.read(own(), page_bytes, page); };
    ASSERT_TRUE(eventually([&] {
      EXPECT_FALSE(read());
      return reads.begun == 1;
    }));
    reads.first_may_end = true;
    ASSERT_TRUE(eventually([&] { return reads.ended == 1; }));
    if (rests) {
      for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(read());
      EXPECT_EQ(reads.begun, 1);
    } else {
      EXPECT_TRUE(eventually(read));
    }
    EXPECT_FALSE(reader.gave_up(getpid()));
  }
}

}  // namespace
}  // namespace millrace::intensity
