#include "millrace/pool/serial_team.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/stream/strategies_testing.h"
#include "millrace/stream/watchdog_testing.h"

#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

auto count_to(int count) {
  return [count, next = 0]() mutable -> std::optional<int> {
    return next < count ? std::optional(next++) : std::nullopt;
  };
}
void ignore(int) {}

Finished run_alone(Result<Stream>& stream, const RunOptions& options = {}) {
  pool::SerialTeam team;
  return stream->run(team, options);
}
std::string error_of(Result<Stream> stream, const RunOptions& options = {}) {
  if (!stream) return stream.error().message;
  const Finished finished = run_alone(stream, options);
  return finished.status ? "" : finished.status.error().message;
}

TEST(Flow, changes_types_from_stage_to_stage_and_moves_items_that_cannot_be_copied) {
  std::vector<std::string> seen;
  auto stream =
      source("count", count_to(3))
          .stage(Kind::parallel, "box", [](int item) { return std::make_unique<int>(item); })
          .stage(Kind::serial_as_they_come, "write out",
                 [](std::unique_ptr<int> item) { return std::to_string(*item) + std::string(100, '.'); })
          .sink(Kind::serial_in_order, "keep", [&](std::string&& item) { seen.push_back(std::move(item)); });
  ASSERT_TRUE(stream);
  EXPECT_TRUE(run_alone(stream).status);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[2], "2" + std::string(100, '.'));
}

TEST(Flow, changes_items_where_they_lie) {
  // Must not even be moved, except into the stream.
  struct Large {
    explicit Large(int of) : value(of), begun_at(&value) {}
    Large(Large&& other) noexcept : value(other.value), begun_at(&value) {}
    int value;
    int* begun_at;
    std::array<char, 4096> rest{};
  };
  std::vector<int> seen;
  auto stream =
      source("count",
             [next = 0]() mutable -> std::optional<Large> {
               if (next == 200) return std::nullopt;
               return Large(next++);
             })
          .stage(Kind::parallel, "add one", [](Large& item) { ++item.value; })
          .stage(Kind::serial_in_order, "fail at 150",
                 [](Large& item) -> Status {
                   if (item.value == 150) return failure("150");
                   item.value *= 2;
                   return {};
                 })
          .stage(Kind::parallel, "once more", [](Large& item) { EXPECT_EQ(item.begun_at, &item.value); })
          .stage(Kind::parallel, "out of it", [](const Large& item) { return item.value; })
          .sink(Kind::serial_in_order, "keep", [&](int item) { seen.push_back(item); });
  ASSERT_TRUE(stream);
  pool::SerialTeam team;
  const Finished finished = stream->run(team, {.trace = Trace::events});
  EXPECT_EQ(finished.status.error().message, "stage 'fail at 150' failed at item 149: 150");
  ASSERT_EQ(seen.size(), 149U);
  for (int i = 0; i < 149; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], 2 * (i + 1));
  EXPECT_EQ(finished.report.stages[2].items_out, 149U);
}

TEST(Flow, keeps_items_aligned_as_their_type_demands) {
  struct alignas(128) Wide {
    int value;
  };
  bool aligned = true;
  auto stream = source("count", count_to(50))
                    .stage<Wide>(Kind::parallel, "widen",
                                 [](int item, Output<Wide>& out) {
                                   for (int i = 0; i < item % 3; ++i)
                                     out.emit({item});
                                 })
                    .sink(Kind::serial_in_order, "look", [&](const Wide& item) {
                      aligned &= reinterpret_cast<std::uintptr_t>(&item) % alignof(Wide) == 0;
                    });
  ASSERT_TRUE(stream);
  EXPECT_TRUE(run_alone(stream).status);
  EXPECT_TRUE(aligned);
}

class FlowWith : public testing::TestWithParam<Strategy> {
 protected:
  void SetUp() override { skip_what_the_sanitizer_cannot_watch(GetParam()); }
};

TEST_P(FlowWith, brings_branches_back_into_order) {
  const Port<std::string> words("words");
  const Port<double> fractions("fractions");
  std::vector<int> seen;
  auto stream =
      source("count", count_to(300))
          .stage<int>(Kind::parallel, "sort",
                      [=](int item, Output<int>& out) {
                        if (item % 3 == 0)
                          out.emit(words, std::to_string(item));
                        else if (item % 3 == 1)
                          out.emit(fractions, item + 0.5);
                        else
                          out.emit(item);
                      })
          .branch(words,
                  [](Flow<std::string> flow) {
                    return std::move(flow).stage(Kind::parallel, "read",
                                                 [](const std::string& item) { return std::stoi(item); });
                  })
          .branch(fractions,
                  [](Flow<double> flow) {
                    return std::move(flow)
                        .stage(Kind::serial_in_order, "round", [](double item) { return item - 0.5; })
                        .stage(Kind::parallel, "cut", [](double item) { return static_cast<int>(item); });
                  })
          .sink(Kind::serial_in_order, "keep", [&](int item) { seen.push_back(item); });
  ASSERT_TRUE(stream);
  auto pool = pool::WorkerPool::create(3);
  auto team = (*pool)->team();
  ASSERT_TRUE(stream->run(team, {.strategy = GetParam()}).status);
  std::vector<int> expected(300);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

INSTANTIATE_TEST_SUITE_P(strategies, FlowWith, testing::ValuesIn(all_strategies()),
                         [](const auto& test) { return std::string(strategy_name(test.param)); });

TEST(Flow, runs_again_with_a_source_that_starts_again) {
  int next = 0;
  int sum = 0;
  auto stream = source("count", [&]() -> std::optional<int> {
                  return next < 5 ? std::optional(next++) : std::nullopt;
                }).sink(Kind::serial_as_they_come, "add", [&](int item) { sum += item; });
  ASSERT_TRUE(stream);
  EXPECT_TRUE(run_alone(stream).status);
  next = 0;
  EXPECT_TRUE(run_alone(stream).status);
  EXPECT_EQ(sum, 20);
}

TEST(Flow, says_what_was_put_together_wrongly) {
  EXPECT_EQ(error_of(source("", count_to(1)).sink(Kind::parallel, "sink", ignore)),
            "the source has no name; give it one");
  EXPECT_NE(error_of(source("same", count_to(1)).sink(Kind::parallel, "same", ignore)).find("'same'"),
            std::string::npos);
  EXPECT_NE(error_of(source("s", count_to(1)).sink(Kind::parallel, "", ignore)).find("no name"),
            std::string::npos);
  const Port<int> port("twice");
  EXPECT_NE(error_of(source("s", count_to(1)).land(port).land(port).sink(Kind::parallel, "sink", ignore))
                .find("'twice'"),
            std::string::npos);
  EXPECT_NE(error_of(source("s", count_to(1))
                         .sink(Kind::parallel, "sink", ignore, {.blocking = true, .blocking_threads = 0}))
                .find("'sink'"),
            std::string::npos);
}

TEST(Flow, fails_the_item_that_is_emitted_into_a_port_that_is_not_further_down) {
  const Port<int> nowhere("nowhere");
  const Port<int> back("back");
  const auto emit_into = [](const Port<int>& port) {
    return [port](int item, Output<int>& out) { out.emit(port, item); };
  };
  for (const std::string& error : {error_of(source("s", count_to(1))
                                                .stage<int>(Kind::parallel, "emit", emit_into(nowhere))
                                                .sink(Kind::parallel, "sink", ignore)),
                                   error_of(source("s", count_to(1))
                                                .land(back)
                                                .stage<int>(Kind::parallel, "emit", emit_into(back))
                                                .sink(Kind::parallel, "sink", ignore))})
    EXPECT_NE(error.find("stage 'emit' failed at item 0: emits into port"), std::string::npos) << error;
}

// Failures in every form that a function can report.
TEST(Flow, names_stage_and_item_of_a_failure) {
  const auto fail_at_2 = [](int item) -> Result<int> {
    if (item == 2) return failure("no {}", item);
    return item;
  };
  EXPECT_EQ(
      error_of(
          source("s", count_to(5)).stage(Kind::parallel, "map", fail_at_2).sink(Kind::parallel, "k", ignore)),
      "stage 'map' failed at item 2: no 2");
  EXPECT_EQ(error_of(source("s", count_to(5))
                         .sink(Kind::serial_in_order, "sink",
                               [&](int item) -> Status {
                                 if (item == 3) return failure("full");
                                 return {};
                               })),
            "stage 'sink' failed at item 3: full");
  EXPECT_EQ(error_of(source("s", count_to(5))
                         .sink(Kind::parallel, "sink",
                               [](int item) {
                                 if (item == 4) throw std::runtime_error("thrown");
                               })),
            "stage 'sink' failed at item 4: thrown");
  EXPECT_EQ(error_of(source("s", count_to(5))
                         .sink(Kind::parallel, "sink",
                               [](int item) {
                                 if (item == 4) throw 4;
                               })),
            "stage 'sink' failed at item 4: an exception of unknown type");
  // The number of a part is the item's number followed by its own.
  EXPECT_EQ(error_of(source("s", count_to(5))
                         .stage<int>(Kind::parallel, "split",
                                     [](int item, Output<int>& out) {
                                       for (int i = 0; i < 3; ++i)
                                         out.emit(10 * item + i);
                                     })
                         .sink(Kind::serial_in_order, "sink",
                               [](int item, Output<void>&) -> Status {
                                 if (item == 21) return failure("odd");
                                 return {};
                               })),
            "stage 'sink' failed at item 2.1: odd");
}

TEST(Flow, names_a_failing_source_and_lets_through_what_it_gave) {
  int sum = 0;
  auto stream = source("read", [next = 0]() mutable -> Result<std::optional<int>> {
                  if (next == 3) return failure("torn");
                  return std::optional(next++);
                }).sink(Kind::serial_in_order, "add", [&](int item) { sum += item; });
  EXPECT_EQ(error_of(std::move(stream)), "source 'read' failed at item 3: torn");
  EXPECT_EQ(sum, 3);
}

TEST(Flow, gives_the_cause_of_a_failure_as_the_stage_put_it) {
  auto stream = source("s", count_to(5)).sink(Kind::serial_in_order, "sink", [](int item) -> Status {
    if (item == 3) return usage_error("full");
    return {};
  });
  ASSERT_TRUE(stream);
  pool::SerialTeam team;
  const Finished finished = stream->run(team);
  ASSERT_FALSE(finished.status);
  EXPECT_EQ(finished.cause.message, "full");
  EXPECT_EQ(finished.cause.kind, ErrorKind::usage);
  const Finished refused = stream->run(team, {.threads = 2});
  ASSERT_FALSE(refused.status);
  EXPECT_EQ(refused.cause.message, refused.status.error().message);
}

TEST(Flow, keeps_the_kind_of_a_returned_error) {
  auto stream = source("s", count_to(2)).sink(Kind::parallel, "sink", [](int) -> Status {
    return usage_error("wrong file");
  });
  EXPECT_EQ(run_alone(stream).status.error().kind, ErrorKind::usage);
}

TEST(Flow, lets_a_sink_end_an_endless_stream) {
  int seen = 0;
  auto stream = source("endless", []() -> std::optional<int> {
                  return 1;
                }).stage(Kind::parallel, "pass", [](int item) {
                    return item;
                  }).sink(Kind::serial_in_order, "head", [&](int, Output<void>& out) {
    if (++seen == 100) out.end_stream();
  });
  ASSERT_TRUE(stream);
  const Watchdog watchdog("endless source");
  auto pool = pool::WorkerPool::create(2);
  auto team = (*pool)->team();
  EXPECT_TRUE(stream->run(team).status);
  EXPECT_EQ(seen, 100);
}

TEST(Flow, tells_a_waiting_source_to_stop) {
  std::stop_source stop;
  auto stream = source("wait",
                       [&](const std::stop_token& stopped) -> std::optional<int> {
                         stop.request_stop();
                         while (!stopped.stop_requested()) {
                         }
                         return std::nullopt;
                       },
                       {.blocking = true})
                    .sink(Kind::parallel, "sink", ignore);
  ASSERT_TRUE(stream);
  const Watchdog watchdog("waiting source");
  const Finished finished = run_alone(stream, {.stop = stop.get_token()});
  ASSERT_FALSE(finished.status);
  EXPECT_EQ(finished.status.error().kind, ErrorKind::interrupted);
}

TEST(Flow, refuses_options_out_of_range_and_calls_nothing) {
  int calls = 0;
  auto stream = source("s", [&]() -> std::optional<int> {
                  ++calls;
                  return std::nullopt;
                }).sink(Kind::parallel, "sink", ignore);
  ASSERT_TRUE(stream);
  for (const RunOptions& options :
       {RunOptions{.threads = 2}, RunOptions{.threads = -1}, RunOptions{.tokens = -1},
        RunOptions{.tokens = most_tokens + 1}, RunOptions{.tokens = std::numeric_limits<int>::max()},
        RunOptions{.byte_budget = 0}, RunOptions{.queue_depth = 0},
        RunOptions{.queue_depth = most_tokens + 1},
        RunOptions{.queue_depth = std::numeric_limits<int>::max()}}) {
    const Finished finished = run_alone(stream, options);
    ASSERT_FALSE(finished.status);
    EXPECT_EQ(finished.status.error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(calls, 0);
}

TEST(Strategy, is_read_as_it_is_written) {
  for (const Strategy strategy : all_strategies())
    EXPECT_EQ(parse_strategy(strategy_name(strategy)), strategy);
  const auto unknown = parse_strategy("fast");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("stealing"), std::string::npos);
}

TEST_P(FlowWith, runs_with_the_greatest_options_it_takes) {
  for (RunOptions options : {RunOptions{.tokens = most_tokens}, RunOptions{.queue_depth = most_tokens},
                             RunOptions{.byte_budget = std::numeric_limits<std::size_t>::max()}}) {
    options.strategy = GetParam();
    int sum = 0;
    auto stream = source("s", count_to(100))
                      .stage(Kind::parallel, "pass", [](int item) { return item; })
                      .stage(Kind::serial_in_order, "between", [](int item) { return item; })
                      .sink(Kind::serial_in_order, "add", [&](int item) { sum += item; });
    const Finished finished = run_alone(stream, options);
    ASSERT_TRUE(finished.status) << finished.status.error().message;
    EXPECT_EQ(sum, 4950);
    EXPECT_LE(finished.report.tokens, most_tokens);
  }
}

// The other stream has another type at that place.
TEST(Flow, fails_the_item_that_is_emitted_into_a_port_of_another_stream) {
  const Port<long> port("mine");
  auto with_port = source("s", count_to(1))
                       .stage(Kind::parallel, "a", [](int item) { return long{item}; })
                       .stage(Kind::parallel, "b", [](long item) { return item; })
                       .land(port)
                       .sink(Kind::serial_in_order, "end", [](long) {});
  ASSERT_TRUE(with_port);
  auto without =
      source("s", count_to(1))
          .stage<long>(Kind::parallel, "a", [=](int item, Output<long>& out) { out.emit(port, item); })
          .stage(Kind::parallel, "b", [](long) { return std::string("text"); })
          .sink(Kind::serial_in_order, "end", [](const std::string&) {});
  EXPECT_EQ(
      error_of(std::move(without)),
      "stage 'a' failed at item 0: emits into port 'mine', which is landed in another stream; give each "
      "stream a port of its own");
  EXPECT_TRUE(run_alone(with_port).status);
}

TEST(Flow, refuses_a_port_that_is_landed_in_two_streams) {
  const Port<int> port("shared");
  EXPECT_TRUE(source("s", count_to(1)).land(port).sink(Kind::parallel, "end", ignore));
  EXPECT_EQ(error_of(source("s", count_to(1)).land(port).sink(Kind::parallel, "end", ignore)),
            "port 'shared' is landed twice; land it once, in one stream");
}

TEST(Flow, refuses_a_branch_that_the_source_would_run_into) {
  const Port<std::string> port("side");
  auto stream =
      source("s", count_to(1))
          .branch(port,
                  [](Flow<std::string> branch) {
                    return std::move(branch).stage(Kind::parallel, "length", [](const std::string& item) {
                      return static_cast<int>(item.size());
                    });
                  })
          .sink(Kind::parallel, "end", ignore);
  EXPECT_EQ(error_of(std::move(stream)),
            "the branch of port 'side' comes before all stages, so none can emit "
            "into it; put it after the stage that does");
}

TEST(Flow, refuses_a_branch_that_returns_another_flow) {
  const Port<int> port("side");
  auto stream =
      source("s", count_to(1))
          .stage<int>(Kind::parallel, "a", [=](int item, Output<int>& out) { out.emit(port, item); })
          .branch(port,
                  [](const Flow<int>&) {
                    return source("t", count_to(1)).stage(Kind::parallel, "b", [](int item) { return item; });
                  })
          .sink(Kind::parallel, "end", ignore);
  EXPECT_EQ(error_of(std::move(stream)),
            "the branch of port 'side' ends in another flow; return the one that it was given, extended");
}

TEST(Flow, refuses_more_threads_for_a_blocking_stage_than_anybody_wants) {
  for (const int threads : {0, -1, 1025, std::numeric_limits<int>::max()}) {
    auto stream = source("s", count_to(1))
                      .stage(Kind::parallel, "wait", [](int item) { return item; },
                             {.blocking = true, .blocking_threads = threads})
                      .sink(Kind::parallel, "end", ignore);
    EXPECT_EQ(error_of(std::move(stream)),
              fmt::format("stage 'wait' has {} blocking threads; give it 1 to 1024", threads));
  }
}

TEST_P(FlowWith, refuses_a_run_while_another_is_under_way) {
  Stream* itself = nullptr;
  std::vector<Error> refusals;
  int seen = 0;
  auto stream = source("s", count_to(3))
                    .stage(Kind::serial_in_order, "run again",
                           [&](int item) {
                             pool::SerialTeam inner_team;
                             const Finished inner = itself->run(inner_team, {.strategy = GetParam()});
                             if (!inner.status) refusals.push_back(inner.status.error());
                             return item;
                           })
                    .sink(Kind::serial_in_order, "end", [&](int) { ++seen; });
  ASSERT_TRUE(stream);
  itself = &*stream;
  EXPECT_TRUE(run_alone(stream, {.strategy = GetParam()}).status);
  EXPECT_EQ(seen, 3);
  ASSERT_EQ(refusals.size(), 3U);
  EXPECT_EQ(refusals[0].kind, ErrorKind::usage);
  EXPECT_NE(refusals[0].message.find("is running already"), std::string::npos);
  // After it has returned, the next run may begin.
  EXPECT_TRUE(run_alone(stream, {.strategy = GetParam()}).status);
}

}  // namespace
}  // namespace millrace::stream
