#include "millrace/image/execute/plane_buffer.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// Otherwise the next use would get memory that does not exist.
TEST(Scratch, hasWhatItHadWhereThereIsNoMoreMemory) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "a sanitizer ends the process instead";
#endif
  Scratch scratch;
  scratch.reserve(1000);
  const std::size_t before = scratch.capacity();
  EXPECT_THROW(scratch.reserve(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
  EXPECT_EQ(scratch.capacity(), before);
  scratch.reserve(before);
  const PixelView view = scratch.take({0, 0, 8, 4}, ElementType::u8);
  std::memset(view.data, 1, 8);
}

}  // namespace
}  // namespace millrace::image
