#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/pipe.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

namespace millrace {
namespace {

bool is_open(int number) { return fcntl(number, F_GETFD) >= 0 || errno != EBADF; }

TEST(Descriptor, IsClosedByItsOwnerAndNotByABorrower) {
  int number = -1;
  {
    const auto owned = Descriptor::owned(open("/dev/null", O_RDWR | O_CLOEXEC));
    number = owned.get();
    ASSERT_GE(number, 0);
    {
      const auto borrowed = Descriptor::borrowed(number);
    }
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, MovesWithWhatItOwns) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const int first = pipe->read_end.get();
  const int second = pipe->write_end.get();
  Descriptor moved = std::move(pipe->read_end);
  EXPECT_FALSE(pipe->read_end.is_open());
  EXPECT_EQ(moved.get(), first);
  moved = std::move(pipe->write_end);
  EXPECT_FALSE(is_open(first));
  EXPECT_TRUE(is_open(second));
  EXPECT_EQ(moved.close(), 0);
  EXPECT_FALSE(moved.is_open());
  EXPECT_FALSE(is_open(second));
}

TEST(Descriptor, OfAFailedCallIsNone) {
  auto none = Descriptor::owned(open("/no such file", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(none.close(), 0);
}

TEST(Pipe, CarriesWhatIsWrittenAndIsClosedInOtherPrograms) {
  const auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_EQ(write(pipe->write_end.get(), "ab", 2), 2);
  char got[3] = {};
  EXPECT_EQ(read(pipe->read_end.get(), got, 3), 2);
  EXPECT_STREQ(got, "ab");
  for (const int end : {pipe->read_end.get(), pipe->write_end.get()})
    EXPECT_EQ(fcntl(end, F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace millrace
