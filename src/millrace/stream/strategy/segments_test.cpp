#include "millrace/stream/strategy/segments.h"

#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

constexpr Kind p = Kind::parallel;
constexpr Kind s = Kind::serial_in_order;
constexpr Kind a = Kind::serial_as_they_come;

Program program_of(const std::vector<Kind>& kinds) {
  Program program;
  for (const Kind kind : kinds)
    program.stages.emplace_back().kind = kind;
  return program;
}

using Expected = std::vector<std::tuple<std::size_t, std::size_t, int>>;
Expected plain(const std::vector<Segment>& segments) {
  Expected result;
  for (const Segment& segment : segments)
    result.emplace_back(segment.first, segment.last, segment.threads);
  return result;
}

TEST(Segments, pools_share_the_threads_among_the_parallel_stages) {
  const Program program = program_of({p, s, p, p, a});
  EXPECT_EQ(plain(segments_of(program, Strategy::pools, 5)),
            (Expected{{0, 0, 2}, {1, 1, 1}, {2, 2, 2}, {3, 3, 1}, {4, 4, 1}}));
}

TEST(Segments, every_stage_has_a_thread_however_few_there_are) {
  const Program program = program_of({p, p, p, s});
  EXPECT_EQ(plain(segments_of(program, Strategy::pools, 1)),
            (Expected{{0, 0, 1}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}}));
}

TEST(Segments, oversubscribed_gives_all_threads_to_each_parallel_stage) {
  const Program program = program_of({p, s, p});
  EXPECT_EQ(plain(segments_of(program, Strategy::oversubscribed, 4)),
            (Expected{{0, 0, 4}, {1, 1, 1}, {2, 2, 4}}));
}

TEST(Segments, collapsed_joins_adjacent_parallel_stages) {
  const Program program = program_of({p, p, s, a, p, p, p, s});
  EXPECT_EQ(plain(segments_of(program, Strategy::collapsed, 4)),
            (Expected{{0, 1, 2}, {2, 2, 1}, {3, 3, 1}, {4, 6, 2}, {7, 7, 1}}));
}

TEST(Segments, blocking_stages_stay_apart_and_have_threads_besides) {
  Program program = program_of({p, p, p, s});
  program.stages[1].options = {.blocking = true, .blocking_threads = 7};
  EXPECT_EQ(plain(segments_of(program, Strategy::collapsed, 4)),
            (Expected{{0, 0, 2}, {1, 1, 7}, {2, 2, 2}, {3, 3, 1}}));
}

}  // namespace
}  // namespace millrace::stream
