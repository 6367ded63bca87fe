#include "millrace/base/file/with_holes.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace {
namespace {

// The disk space of the file.
std::uint64_t room_of(const std::string& path) {
  constexpr std::uint64_t unit = 512;
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? unit * static_cast<std::uint64_t>(status.st_blocks) : 0;
}

TEST(WithHoles, FileOfZerosTakesNoRoom) {
  const TemporaryFolder folder;
  const std::string path = folder / "zeros";
  const std::vector<std::byte> zeros(std::size_t{5} << 20);
  const auto file = OutputFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  WithHoles sink(**file);
  for (int part = 0; part < 10; ++part)
    ASSERT_TRUE(sink.write(zeros));
  // Typical of a reader of its own output.
  std::vector<std::byte> end(100, std::byte{1});
  ASSERT_TRUE((*file)->read_at(10 * zeros.size() - end.size(), end));
  EXPECT_TRUE(std::ranges::all_of(end, [](std::byte byte) { return byte == std::byte{0}; }));
  ASSERT_TRUE((*file)->commit());
  EXPECT_EQ(std::filesystem::file_size(path), 10 * zeros.size());
  if (room_of(path) >= std::size_t{5} << 20) GTEST_SKIP() << "SKIPPED: this file system has no holes";
}

// Alternates zeros and other bytes, in writes of any size.
TEST(WithHoles, FileHasWhatWasWritten) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  for (int round = 0; round < 30; ++round) {
    const TemporaryFolder folder;
    const std::string path = folder / "file";
    const auto file = OutputFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    WithHoles sink(**file);
    std::string expected;
    std::size_t least_room = 0;
    for (int piece = 0; piece < 12; ++piece) {
      const bool zeros = random() % 2 == 0;
      const std::string part(below(4 * WithHoles::block), zeros ? '\0' : 'x');
      expected += part;
      if (!zeros) least_room += part.size();
    }
    for (std::size_t at = 0; at < expected.size();) {
      const std::size_t size = std::min(expected.size() - at, 1 + below(3 * WithHoles::block));
      ASSERT_TRUE(sink.write(std::as_bytes(std::span(expected).subspan(at, size))));
      at += size;
    }
    ASSERT_TRUE((*file)->commit());
    ASSERT_EQ(content_of(path), expected) << round;
    EXPECT_GE(room_of(path), least_room / 2);
  }
}

}  // namespace
}  // namespace millrace
