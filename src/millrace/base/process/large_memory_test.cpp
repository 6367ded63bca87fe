#include "millrace/base/process/large_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <malloc.h>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

constexpr std::size_t mebi = std::size_t{1} << 20;

// Whether the flag "hg" is set for the mapping that contains this address or one after it.
bool asks_for_huge_pages(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= wanted && wanted < end;
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST(LargeMemory, IsAlignedAndCanBeWritten) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{65}, mebi / 2, mebi, 3 * mebi / 2, 2 * mebi - 1, 2 * mebi,
        2 * mebi + 1, std::size_t{3} * 1920 * 540, 9 * mebi}) {
    const Memory memory(allocate_large(bytes));
    ASSERT_NE(memory, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0U) << bytes;
    std::memset(memory.get(), 1, bytes);
  }
}

TEST(LargeMemory, AsksForHugePagesWhereThatIsLittleMoreMemory) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "sanitizers have an allocator of their own, which uses again what was asked for before";
#endif
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "the kernel has no huge pages";
  // Otherwise malloc would reuse memory that may already have huge pages.
  ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 17), 1);
  const auto huge_bytes = [](std::size_t bytes) {
    const Memory memory(allocate_large(bytes));
    const auto* const begin = static_cast<const std::byte*>(memory.get());
    std::size_t huge = 0;
    while (asks_for_huge_pages(begin + huge) && huge < 16 * mebi)
      huge += 2 * mebi;
    return huge;
  };
  EXPECT_EQ(huge_bytes(0), 0U);
  EXPECT_EQ(huge_bytes(mebi), 0U);
  EXPECT_EQ(huge_bytes(std::size_t{1280} * 720 * 3 / 2), 2 * mebi);
  EXPECT_EQ(huge_bytes(2 * mebi), 2 * mebi);
  EXPECT_EQ(huge_bytes(2 * mebi + 1), 2 * mebi) << "the end stays small";
  EXPECT_EQ(huge_bytes(std::size_t{1920} * 1080 * 3 / 2), 4 * mebi);
  EXPECT_EQ(huge_bytes(std::size_t{1152} * 760 * 3), 2 * mebi) << "three eighths would be for nothing";

  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limited{.rlim_cur = std::min<rlim_t>(before.rlim_max, rlim_t{1} << 46U),
                       .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  EXPECT_EQ(huge_bytes(8 * mebi), 0U);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(LargeMemory, TellsWhatItUses) {
  EXPECT_EQ(large_memory_bytes(mebi), mebi);
  EXPECT_EQ(large_memory_bytes(std::size_t{1280} * 720 * 3 / 2), 2 * mebi);
  EXPECT_EQ(large_memory_bytes(2 * mebi + 1), 2 * mebi + 1);
}

TEST(LargeMemory, BlocksThatShareAHugePageFillMostOfIt) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "there each is allocated for itself";
#endif
  for (std::size_t bytes = 1; bytes < 8 * mebi; bytes += bytes / 7 + 1) {
    const auto [together, each] = blocks_together(bytes);
    ASSERT_GE(each, bytes);
    ASSERT_GE(together, 1U);
    if (together == 1) continue;
    EXPECT_GE(bytes, 96U << 10U);
    EXPECT_EQ(each % 64, 0U);
    EXPECT_LE(together * each, 2 * mebi);
    EXPECT_GT((together + 1) * (bytes + 64), 2 * mebi);
  }
  EXPECT_EQ(blocks_together(152'064).count, 13U) << "352x288";
  EXPECT_EQ(blocks_together(std::size_t{1280} * 720 * 3 / 2).count, 1U);
}

TEST(LargeMemory, IsNullWhereThereIsNone) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "sanitizers end a program that asks for so much";
#endif
  EXPECT_EQ(allocate_large(std::size_t{1} << 60U), nullptr);
  EXPECT_EQ(allocate_large(std::numeric_limits<std::size_t>::max()), nullptr);
}

}  // namespace
}  // namespace millrace
