#include "dedup/dedup_testing.h"
#include "dedup/input_file.h"
#include "dedup/output_file.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::dedup {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "millrace-dedup-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  [[nodiscard]] static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
  std::stop_source stop_;
  const Bytes text_ = text_bytes(1000, 1);
};

TEST_F(OutputFiles, have_their_name_only_when_committed) {
  const fs::path path = folder_ / "out";
  {
    const auto file = OutputFile::open(path, false, stop_.get_token());
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write(text_));
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_EQ(files(), 0U);
  const auto file = OutputFile::open(path, false, stop_.get_token());
  ASSERT_TRUE((*file)->write(text_));
  Bytes back(text_.size() - 10);
  ASSERT_TRUE((*file)->read_at(10, back));
  EXPECT_TRUE(std::ranges::equal(back, std::span(text_).subspan(10)));
  ASSERT_TRUE((*file)->commit());
  EXPECT_EQ(fs::file_size(path), text_.size());
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFiles, replace_others_only_when_told_to) {
  const fs::path path = folder_ / "out";
  std::ofstream(path) << "before";
  EXPECT_EQ(OutputFile::open(path, false, stop_.get_token()).error().kind, ErrorKind::usage);
  ASSERT_TRUE((*OutputFile::open(path, true, stop_.get_token()))->commit());
  EXPECT_EQ(content(path), "");
  // One that came meanwhile is kept.
  fs::remove(path);
  const auto file = OutputFile::open(path, false, stop_.get_token());
  std::ofstream(path) << "meanwhile";
  EXPECT_FALSE((*file)->commit());
  EXPECT_EQ(content(path), "meanwhile");
}

TEST_F(OutputFiles, are_refused_where_none_can_be) {
  for (const fs::path& path : {folder_, folder_ / "none" / "out"})
    EXPECT_EQ(OutputFile::open(path, true, stop_.get_token()).error().kind, ErrorKind::usage) << path;
}

TEST_F(OutputFiles, that_are_full_say_how_much_was_written) {
  const auto file = OutputFile::open("/dev/full", false, stop_.get_token());
  ASSERT_TRUE(file);
  const Status written = (*file)->write(text_);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            "/dev/full: no space left after 0 bytes; free some or choose another place");
}

TEST_F(OutputFiles, without_a_name_leave_nothing) {
  const auto file = OutputFile::temporary(stop_.get_token());
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(5000, text_));
  Bytes back(text_.size());
  ASSERT_TRUE((*file)->read_at(5000, back));
  EXPECT_EQ(back, text_);
  EXPECT_FALSE((*file)->read_at(5001, back));
}

TEST_F(OutputFiles, and_inputs_that_wait_for_a_pipe_end_with_a_stop) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  InputFile input(Descriptor::owned(ends[0]), "in", stop_.get_token());
  OutputFile output(Descriptor::owned(ends[1]), "out", stop_.get_token());
  EXPECT_TRUE(output.may_wait());
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop_.request_stop();
  });
  Bytes some(10);
  EXPECT_EQ(input.read(some).error().kind, ErrorKind::interrupted);
  // More than any pipe takes.
  EXPECT_EQ(output.write(Bytes(std::size_t{4} << 20)).error().kind, ErrorKind::interrupted);
}

TEST_F(OutputFiles, are_not_made_of_their_own_input) {
  const fs::path path = folder_ / "both";
  std::ofstream(path) << "content";
  fs::create_hard_link(path, folder_ / "other name");
  const auto input = InputFile::open(path, stop_.get_token());
  EXPECT_TRUE((*input)->is_same_file(folder_ / "other name"));
  EXPECT_FALSE((*input)->is_same_file(folder_ / "none"));
  EXPECT_EQ(InputFile::open(folder_, stop_.get_token()).error().kind, ErrorKind::usage);
  EXPECT_EQ(InputFile::open(folder_ / "none", stop_.get_token()).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace millrace::dedup
