#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/file/output_file.h"

#include <array>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace millrace {
namespace {

// The kernel's count of write calls by this thread.
std::optional<std::int64_t> writes_so_far() {
  std::ifstream file("/proc/thread-self/io");
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;)
    if (name == "syscw:") return value;
  return std::nullopt;
}

std::vector<std::byte> numbered(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

std::vector<std::byte> read_until_end(int descriptor) {
  std::vector<std::byte> all;
  std::array<std::byte, 65536> part{};
  for (ssize_t count = 0; (count = read(descriptor, part.data(), part.size())) > 0;)
    all.insert(all.end(), part.begin(), part.begin() + count);
  return all;
}

TEST(PipeOutput, GoesInOneWriteWhereThePipeHasRoom) {
  if (!writes_so_far()) GTEST_SKIP() << "this kernel counts no writes";
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const int held = fcntl(pipe->write_end.get(), F_GETPIPE_SZ);
  ASSERT_GT(held, 4096);
  OutputFile file(Descriptor::borrowed(pipe->write_end.get()), "the pipe");
  const auto bytes = numbered(static_cast<std::size_t>(held));
  const std::int64_t before = *writes_so_far();
  ASSERT_TRUE(file.write(bytes));
  EXPECT_EQ(*writes_so_far() - before, 1);
  pipe->write_end.close();
}

TEST(PipeOutput, MakesRoomForALargerWrite) {
  if (!writes_so_far()) GTEST_SKIP() << "this kernel counts no writes";
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  constexpr std::size_t larger = 512 << 10;
  {
    auto probe = make_pipe();
    if (fcntl(probe->write_end.get(), F_SETPIPE_SZ, larger) < 0)
      GTEST_SKIP() << "pipes of 512 KiB are not allowed here";
  }
  OutputFile file(Descriptor::borrowed(pipe->write_end.get()), "the pipe");
  const std::int64_t before = *writes_so_far();
  ASSERT_TRUE(file.write(numbered(larger)));
  EXPECT_EQ(*writes_so_far() - before, 1);
}

TEST(PipeOutput, StaysInOrderThroughReadersOfAnySpeed) {
  const auto bytes = numbered(3'000'001);
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  std::vector<std::byte> got;
  std::thread reader([&] { got = read_until_end(pipe->read_end.get()); });
  {
    OutputFile file(std::move(pipe->write_end), "the pipe");
    EXPECT_TRUE(file.write(bytes));
  }
  reader.join();
  EXPECT_EQ(got, bytes);
}

TEST(PipeOutput, LeavesThePipeBlockingForThoseWhoShareIt) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  OutputFile file(Descriptor::borrowed(pipe->write_end.get()), "the pipe");
  ASSERT_TRUE(file.write(numbered(10)));
  EXPECT_EQ(fcntl(pipe->write_end.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(SocketOutput, ArrivesWholeAndInOrder) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const auto bytes = numbered(2'000'000);
  std::vector<std::byte> got;
  const auto other_end = Descriptor::owned(ends[1]);
  std::thread reader([&] { got = read_until_end(other_end.get()); });
  {
    OutputFile file(Descriptor::owned(ends[0]), "the socket");
    EXPECT_TRUE(file.write(bytes));
  }
  reader.join();
  EXPECT_EQ(got, bytes);
}

}  // namespace
}  // namespace millrace
