#include "millrace/base/numbers/student_t.h"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

namespace millrace {
namespace {

// The probability that Student's t lies between -q and q, by Simpson's rule.
double share_within(double q, int degrees) {
  const double n = degrees;
  const double factor =
      std::exp(std::lgamma((n + 1) / 2) - std::lgamma(n / 2)) / std::sqrt(n * std::acos(-1.0));
  const auto density = [&](double t) { return factor * std::pow(1 + t * t / n, -(n + 1) / 2); };
  constexpr int steps = 20000;
  const double width = q / steps;
  double sum = density(0) + density(q);
  for (int i = 1; i < steps; ++i)
    sum += (i % 2 == 1 ? 4 : 2) * density(i * width);
  return 2 * sum * width / 3;
}

TEST(StudentT, quantiles_hold_the_share_they_are_asked_for) {
  for (const auto& [confidence, share] :
       {std::pair{Confidence::p90, 0.90}, {Confidence::p95, 0.95}, {Confidence::p99, 0.99}}) {
    for (int degrees = 1; degrees <= 30; ++degrees)
      EXPECT_NEAR(share_within(student_t(degrees, confidence), degrees), share, 1e-4) << degrees;
    EXPECT_EQ(student_t(1000, confidence), student_t(30, confidence));
  }
}

}  // namespace
}  // namespace millrace
