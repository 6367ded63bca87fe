// Blocking after service and service times that are not exponential, for which no formula is exact. Compared
// with an independent simulator; ciw_reference.py generates the table.
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/simulation/simulation.h"

#include <vector>

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

struct Reference {
  std::vector<double> seconds;
  std::vector<double> cv;
  std::vector<int> threads;
  int queue;
  double visits;  // of the second stage
  double items_per_second;
  double standard_error;
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> table{
#include "millrace/model/simulation/ciw_reference.inc"
  };
  return table;
}

class CiwReference : public testing::TestWithParam<std::size_t> {};

TEST_P(CiwReference, IsReproduced) {
  MILLRACE_RELEASE_ONLY();
  const Reference& reference = references()[GetParam()];
  Pipeline pipeline;
  PoolsSetting setting{.queue = reference.queue, .cores = 64};
  for (std::size_t i = 0; i < reference.seconds.size(); ++i) {
    const int threads = reference.threads[i];
    pipeline.stages.push_back(
        {.name = "stage",
         .kind = threads > 1 || i == 1 ? StageKind::parallel : StageKind::serial,
         .service = ServiceTime::with_variation(reference.seconds[i], reference.cv[i]).value(),
         .visits = i == 1 ? reference.visits : 1});
    setting.pools.push_back({static_cast<int>(i), static_cast<int>(i), threads});
  }
  const auto result = simulate_pools(pipeline, setting, {.items = 200'000, .seed = 5});
  ASSERT_TRUE(result);
  // Four standard errors of the reference, plus the same for the randomness of 200,000 items.
  const double tolerance = 4 * reference.standard_error + 0.01 * reference.items_per_second;
  EXPECT_NEAR(result->steady_items_per_second, reference.items_per_second, tolerance);
}

INSTANTIATE_TEST_SUITE_P(Lines, CiwReference, testing::Range(std::size_t{0}, references().size()));

}  // namespace
}  // namespace millrace::model
