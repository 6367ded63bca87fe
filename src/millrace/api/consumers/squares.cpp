// A stream of numbers: squared in parallel, added up in order.
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/prediction/prediction.h"
#include "millrace/pool/for_range.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/flow.h"
#include "millrace/version.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

using namespace millrace;

int main() {
  auto pool = pool::WorkerPool::create(2);
  if (!pool) return std::fprintf(stderr, "%s\n", pool.error().message.c_str()), 1;
  pool::PoolTeam team = (*pool)->team();

  std::int64_t next = 0;
  std::vector<std::int64_t> squares;
  const auto read = [&]() -> std::optional<std::int64_t> {
    if (next == 1000) return std::nullopt;
    return next++;
  };
  auto stream =
      stream::source("count", read)
          .stage(stream::Kind::parallel, "square", [](std::int64_t n) { return n * n; })
          .sink(stream::Kind::serial_in_order, "keep", [&](std::int64_t n) { squares.push_back(n); });
  if (!stream) return std::fprintf(stderr, "%s\n", stream.error().message.c_str()), 1;
  const stream::Finished finished = stream->run(team, {.strategy = stream::Strategy::stealing});
  if (!finished.status) return std::fprintf(stderr, "%s\n", finished.status.error().message.c_str()), 1;

  std::vector<std::int64_t> sums(2);
  const Status summed = pool::for_range(team, 0, std::ssize(squares), pool::Partition::static_, 1,
                                        [&](std::int64_t begin, std::int64_t end, int rank) {
                                          for (std::int64_t i = begin; i < end; ++i)
                                            sums[static_cast<std::size_t>(rank)] +=
                                                squares[static_cast<std::size_t>(i)];
                                        });
  if (!summed || squares[999] != 999 * 999) return 1;

  // Predict the speed on four cores with a millisecond of work per item.
  const auto modelled = model::parse_pipeline_text("count serial 0.1ms; square 1ms; keep serial 0.1ms");
  if (!modelled) return std::fprintf(stderr, "%s\n", modelled.error().message.c_str()), 1;
  const auto plan = model::make_plan(*modelled, model::Strategy::stealing, 4, 20, 64);
  const model::Prediction predicted = model::predict(*modelled, plan, 1000);
  std::printf("%s: %lld, %zu stages, between 0.2 s and 1.2 s: %s\n", MILLRACE_VERSION,
              static_cast<long long>(sums[0] + sums[1]), finished.report.stages.size(),
              predicted.point_seconds > 0.2 && predicted.point_seconds < 1.2 ? "yes" : "no");
}
