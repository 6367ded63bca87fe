#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace millrace {
namespace {

class WholeFile : public testing::TestWithParam<std::size_t> {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_ / "file";
};

TEST_P(WholeFile, IsReadAsItWasWritten) {
  const std::string text(GetParam(), 'x');
  ASSERT_TRUE(write_whole(path_, text));
  EXPECT_EQ(content_of(path_), text);
  const auto bytes = read_regular_file(path_);
  ASSERT_TRUE(bytes && *bytes);
  EXPECT_EQ((*bytes)->size(), text.size());
  const auto input = InputFile::open(path_);
  ASSERT_TRUE(input);
  EXPECT_EQ(read_whole(**input), **bytes);
}

TEST_P(WholeFile, ComesThroughAPipeToo) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const std::vector<std::byte> bytes(GetParam(), std::byte{7});
  std::thread writer([&, end = std::move(pipe->write_end)]() mutable {
    OutputFile output(std::move(end), "out");
    EXPECT_TRUE(output.write(bytes));
  });
  InputFile input(std::move(pipe->read_end), "in");
  const auto got = read_whole(input);
  writer.join();
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, bytes);
}

TEST_P(WholeFile, IsReadAsTextUpToABound) {
  const std::string text(GetParam(), 'x');
  make_file(path_, text);
  EXPECT_EQ(read_text(path_, GetParam()).value_or("none"), text);
  if (GetParam() == 0) return;
  const auto refused = read_text(path_, GetParam() - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_EQ(
      refused.error().message,
      fmt::format("{}: is larger than the {} bytes allowed; is it the right file?", path_, GetParam() - 1));
}

INSTANTIATE_TEST_SUITE_P(Sizes, WholeFile, testing::Values(0, 1, 4096, (1 << 20) + 1, 3'000'000),
                         testing::PrintToStringParamName());

TEST(RegularFile, IsNoneWhereThereIsNoneAndAFailureWhereItIsSomethingElse) {
  const TemporaryFolder folder;
  const auto none = read_regular_file(folder / "none");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_FALSE(read_regular_file(folder.path()));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_regular_file(folder / "pipe"));  // does not wait for a writer
}

TEST(WriteWhole, LeavesTheOldOneWhereTheNewOneCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  ASSERT_TRUE(write_whole(path, "old"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_DFL);
  ignore_write_signals();
  setrlimit(RLIMIT_FSIZE, &limit);
  const Status written = write_whole(path, std::string(10'000, 'x'), {.overwrite = Overwrite::yes});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::failure);
  EXPECT_EQ(written.error().message,
            path + ": cannot grow beyond 4096 bytes (ulimit -f, or the file system's own "
                   "limit); raise the limit or choose another place");
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteWhole, KeepsOthersWhereItMustNotReplace) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  make_file(path, "old");
  EXPECT_FALSE(write_whole(path, "new"));
  EXPECT_EQ(content_of(path), "old");
}

TEST(WriteJson, ReplacesWhatIsNoUnicodeInNames) {
  const TemporaryFolder folder;
  const std::string path = folder / "report";
  ASSERT_TRUE(write_json(nlohmann::json{{"name", "a\xff"}}, path, Overwrite::no));
  EXPECT_EQ(nlohmann::json::parse(content_of(path)).at("name"), "a\uFFFD");
}

}  // namespace
}  // namespace millrace
