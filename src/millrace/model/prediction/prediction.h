// What a plan will reach: by formulas in microseconds, by simulation in a fraction of a second.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/prediction/ordered_tail.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::model {

// Times of a whole run in seconds; low <= point <= high.
struct Prediction {
  double low_seconds = 0;
  double point_seconds = 0;
  double high_seconds = 0;
  std::string limit;  // what keeps it from being faster: "stage load", "cores", "tokens" or "queue"
};

// By formulas: the low end is the asymptotic bound; the high end the closed network with exponential times;
// the point lies between them as the coefficient of variation of the service times says (0: the bound, 1 or
// more: exponential). Pools are a station each, the tokens what threads and queues hold; when stealing, all
// parallel stages are one station whose servers are the threads that no serial stage keeps. They know nothing
// of order, batches or the sharing of cores within a pool. The pipeline and the plan are valid; items >= 1.
[[nodiscard]] MILLRACE_EXPORT Prediction predict(const Pipeline& pipeline, const Plan& plan,
                                                 std::int64_t items);

// By `runs` simulations (2 to 1000) of at most `simulated` items with seeds from `seed` on, extended to
// `items`: mean, and two standard deviations of a single run to either side. Of items that split into many,
// fewer are simulated, so that no simulation takes more than about a second; usage error where not even one
// can be.
[[nodiscard]] MILLRACE_EXPORT Result<Prediction> predict_by_simulation(const Pipeline& pipeline,
                                                                       const Plan& plan, std::int64_t items,
                                                                       std::int64_t simulated, int runs,
                                                                       std::uint64_t seed);

// Seconds of an item in the long run: by formulas, and by what the order leaves the plan's tokens to do.
// `tail`: of this pipeline.
[[nodiscard]] MILLRACE_EXPORT double item_seconds(const Pipeline& pipeline, const OrderedTail& tail,
                                                  const Plan& plan);

// The smallest number of tokens with which stealing on so many threads reaches 99 % of what it reaches with
// any, by item_seconds().
[[nodiscard]] MILLRACE_EXPORT int sufficient_tokens(const Pipeline& pipeline, const OrderedTail& tail,
                                                    int threads);
[[nodiscard]] MILLRACE_EXPORT int sufficient_tokens(const Pipeline& pipeline, int threads);
// The same for the queue in front of every pool.
[[nodiscard]] MILLRACE_EXPORT int sufficient_queue(const Pipeline& pipeline, Strategy strategy, int cores);

}  // namespace millrace::model
