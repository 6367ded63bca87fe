#include "millrace/model/simulation/simulation.h"

namespace millrace::model {

Result<SimulationResult> simulate(const Pipeline& pipeline, const Plan& plan,
                                  const SimulationOptions& options) {
  if (plan.strategy == Strategy::stealing)
    return simulate_stealing(
        pipeline, {.threads = plan.threads(), .tokens = plan.tokens, .cores = plan.cores}, options);
  return simulate_pools(pipeline,
                        {.pools = plan.pools,
                         .queue = plan.queue,
                         .cores = plan.cores,
                         .sharing = plan.sharing,
                         .tokens = plan.tokens},
                        options);
}

}  // namespace millrace::model
