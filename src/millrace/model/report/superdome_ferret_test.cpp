#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/report/ferret_report.h"

#include <cmath>

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

// The second half: values that the paper shows only in a figure must not matter.
TEST(SuperdomeFerret, IsPredictedWithinTheErrorsPromisedHoweverTheRestIsDivided) {
  MILLRACE_RELEASE_ONLY();
  FerretTimes other;
  other.division = {1.0 / 3, 1.0 / 3, 1.0 / 3};
  const auto predictions = predict_ferret({}, 2);
  const auto divided = predict_ferret(other, 2);
  ASSERT_TRUE(predictions && divided);
  ASSERT_EQ(predictions->size(), 24U);
  for (const auto* found : {&*predictions, &*divided}) {
    for (const bool with_calibration : {true, false}) {
      const ErrorSummary error = simulation_error(*found, with_calibration);
      EXPECT_LE(error.median, 0.05);
      EXPECT_LE(error.worst, 0.15);
    }
  }
  for (std::size_t i = 0; i < predictions->size(); ++i) {
    EXPECT_NEAR((*divided)[i].formulas / (*predictions)[i].formulas, 1, 0.01);
    EXPECT_NEAR((*divided)[i].simulation / (*predictions)[i].simulation, 1, 0.025);  // and randomness
  }
}

TEST(SuperdomeFerret, IsSizedNearThePaper) {
  MILLRACE_RELEASE_ONLY();
  for (const SizingResult& result : paper_sizing())
    EXPECT_LE(std::abs(result.model - result.paper), 2) << result.what;
}

}  // namespace
}  // namespace millrace::model
