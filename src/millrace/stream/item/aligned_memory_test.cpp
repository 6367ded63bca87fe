#include "millrace/stream/item/aligned_memory.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(AlignedMemory, lies_on_its_boundary_and_is_whole) {
  for (const std::size_t alignment : {16U, 64U, 128U, 4096U}) {
    std::vector<void*> blocks;
    for (std::size_t bytes = 1; bytes < 3000; bytes += 97) {
      void* const block = new_aligned(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U) << bytes << " on " << alignment;
      std::memset(block, 0xff, bytes);  // checked by the address sanitizer, and by delete_aligned() later
      blocks.push_back(block);
    }
    for (void* const block : blocks)
      delete_aligned(block);
  }
  delete_aligned(nullptr);
}

TEST(AlignedMemory, serves_containers) {
  struct alignas(128) Line {
    std::uint64_t number = 7;
  };
  std::vector<Line, AlignedAllocator<Line>> lines(3);
  lines.resize(50);
  for (const Line& line : lines) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&line) % 128, 0U);
    EXPECT_EQ(line.number, 7U);
  }
}

}  // namespace
}  // namespace millrace::stream
