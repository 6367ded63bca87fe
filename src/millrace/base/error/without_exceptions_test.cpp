#include "millrace/base/error/without_exceptions.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace {
namespace {

TEST(WithoutExceptions, MakesAnErrorOfWhatIsThrown) {
  EXPECT_TRUE(without_exceptions([] { return Status(); }));
  const auto said = [](const auto& thrown) {
    return without_exceptions([&]() -> Status { throw thrown; }).error().message;
  };
  EXPECT_EQ(said(std::bad_alloc()), out_of_memory);
  EXPECT_EQ(said(std::runtime_error("a reason")), "a reason");
  EXPECT_EQ(said(1), "an exception of unknown type");
  EXPECT_EQ(without_exceptions([]() -> Status { throw std::bad_alloc(); }, "nothing left").error().message,
            "nothing left");
}

// Ends the process with 0 if both errors arrived, with the short message that memory allowed.
[[noreturn]] void fail_without_memory() {
  const std::string words(1 << 16, 'a');
  const std::runtime_error thrown(words);
  const rlimit nothing_more{.rlim_cur = 1, .rlim_max = 1};
  setrlimit(RLIMIT_AS, &nothing_more);
  for (std::size_t bytes = 1 << 20; bytes > 0; bytes /= 2) {
    while (std::malloc(bytes) != nullptr) {  // NOLINT(clang-analyzer-unix.Malloc): gone with the process
    }
  }
  const Status none = without_exceptions([]() -> Status { throw std::bad_alloc(); }, words.c_str());
  const Status other = without_exceptions([&]() -> Status { throw thrown; });
  _exit(none.error().message == "out of memory" && other.error().message == "out of memory" ? 0 : 1);
}

TEST(WithoutExceptions, DoSoWhereThereIsNoMemoryForItsWords) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "sanitizers end a program that has no memory";
#endif
  EXPECT_EXIT(fail_without_memory(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace millrace
