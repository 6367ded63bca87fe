// Predicts the run time of a plan: by formulas in microseconds, by simulation in a fraction of a second.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/prediction/ordered_tail.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace millrace::model {

// Times of a whole run in seconds; low <= point <= high.
struct Prediction {
  double low_seconds = 0;
  double point_seconds = 0;
  double high_seconds = 0;
  std::string limit;  // the bottleneck: "stage load", "cores", "tokens" or "queue"
};

// Predicts by formulas. The low end is the asymptotic bound, the high end the closed network with exponential
// times. The point is interpolated by the coefficient of variation of the service times (0: the bound, 1 or
// more: exponential). Each pool is one station, and the tokens are the items that threads and queues hold.
// Under stealing, all parallel stages form one station, whose servers are the threads not occupied by serial
// stages. The formulas ignore order, batches and the sharing of cores within a pool. The pipeline and the
// plan must be valid; items >= 1. With hundreds of stages and threads it takes up to a minute: `stops` is
// asked about twenty times a second. Once it has returned true, it must stay true and the result is
// meaningless.
[[nodiscard]] MILLRACE_EXPORT Prediction predict(const Pipeline& pipeline, const Plan& plan,
                                                 std::int64_t items, const std::function<bool()>& stops = {});

// Predicts by `runs` simulations (2 to 1000) of at most `simulated` items, with seeds from `seed` on,
// extended to `items`. Returns the mean, and two standard deviations of a single run to either side. If items
// split into many parts, fewer items are simulated, so that a simulation takes at most about a second.
// Returns a usage error if not even one item can be simulated. `stops`: see SimulationOptions.
[[nodiscard]] MILLRACE_EXPORT Result<Prediction>
predict_by_simulation(const Pipeline& pipeline, const Plan& plan, std::int64_t items, std::int64_t simulated,
                      int runs, std::uint64_t seed, const std::function<bool()>& stops = {});

// Long-run seconds per item: by formulas, corrected for the tokens that in-order delivery ties up. `tail`
// must belong to this pipeline.
[[nodiscard]] MILLRACE_EXPORT double item_seconds(const Pipeline& pipeline, const OrderedTail& tail,
                                                  const Plan& plan);

// The smallest number of tokens with which stealing on that many threads reaches 99 % of its throughput with
// unlimited tokens, according to item_seconds(). `stops`: see predict().
[[nodiscard]] MILLRACE_EXPORT int sufficient_tokens(const Pipeline& pipeline, const OrderedTail& tail,
                                                    int threads, const std::function<bool()>& stops = {});
[[nodiscard]] MILLRACE_EXPORT int sufficient_tokens(const Pipeline& pipeline, int threads,
                                                    const std::function<bool()>& stops = {});
// The same for the queue in front of every pool.
[[nodiscard]] MILLRACE_EXPORT int sufficient_queue(const Pipeline& pipeline, Strategy strategy, int cores,
                                                   const std::function<bool()>& stops = {});

}  // namespace millrace::model
