#include "millrace/placement/trials/progress.h"

#include <string>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

std::optional<double> total_of(const std::string& pattern, const std::string& output, std::size_t piece) {
  auto reader = ReportReader::make(pattern);
  EXPECT_TRUE(reader) << reader.error().message;
  for (std::size_t i = 0; i < output.size(); i += piece)
    reader->take(std::string_view(output).substr(i, piece), 0);
  return reader->total();
}

// However the output is split into pieces.
class Pieces : public testing::TestWithParam<std::size_t> {};

TEST_P(Pieces, NumbersOfTheFirstGroupCount) {
  EXPECT_EQ(total_of("frame= *([0-9]+)", "frame=  10 fps\rframe=  25 fps\rframe= 99", GetParam()), 25);
  EXPECT_EQ(total_of("([0-9]+) frames:", "[3%] 9/300 frames, 1 fps\n12 frames: 4\n", GetParam()), 12);
}

TEST_P(Pieces, ASecondPassGoesOn) { EXPECT_EQ(total_of("([0-9]+)", "10\n20\n5\n8\n", GetParam()), 28); }

TEST_P(Pieces, WithoutNumbersMatchesCount) {
  EXPECT_EQ(total_of("done", "done\nnot\ndone x\ndone\n", GetParam()), 3);
}

TEST_P(Pieces, WhatDoesNotMatchIsNothing) {
  EXPECT_EQ(total_of("frame ([0-9]+)", "hello\nworld\n", GetParam()), std::nullopt);
}

TEST_P(Pieces, ALineWithoutEndDoesNotGrowForEver) {
  EXPECT_EQ(total_of("x([0-9]+)", std::string(100'000, 'a') + "\nx7\n", GetParam()), 7);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Pieces, testing::Values(1, 2, 3, 7, 64, 100'000));

TEST(ReportReader, RefusesWhatIsNoPattern) {
  const auto reader = ReportReader::make("([0-9");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, ErrorKind::usage);
}

// Nested repetition, on which backtracking engines take exponential time.
TEST(ReportReader, TakesALineInTheTimeOfALine) {
  EXPECT_EQ(total_of("(x+x+)+y", std::string(3000, 'x') + "\nxxy\n", 64), 1);
}

TEST(ByteCounter, CountsWhatAProcessWritesAndKeepsWhatEndedOnesDid) {
  ByteCounter counter;
  const auto before = counter.total({getpid()});
  ASSERT_TRUE(before);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text(10'000, 'x');
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[0]);
  close(ends[1]);
  const auto after = counter.total({getpid()});
  ASSERT_TRUE(after);
  EXPECT_GE(*after - *before, 10'000);
  EXPECT_GE(counter.total({}), *after);
}

TEST(InstructionCounters, CountWhereThereIsACounterAndSayNothingElsewhere) {
  InstructionCounters counters;
  const auto first = counters.total({getpid()});
  if (!first) GTEST_SKIP() << "no instruction counter here";
  EXPECT_GT(counters.total({getpid()}), first);
}

}  // namespace
}  // namespace millrace::placement
