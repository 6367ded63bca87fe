#include "millrace/run/video/bottleneck_share.h"

#include <algorithm>

namespace millrace::run {
namespace {

// Window in iterations. Encoders take frames in bursts about as long as their lookahead or reordering.
constexpr double batches = 16;

// Waiting relative to computing above which faster computing gains nothing; the search does not look for
// larger savings. Below it the run is bound by either at times.
constexpr double waiting_of_the_unbound = 0.5;

// Iterations in which the weight of the assumed share falls to 1/e.
constexpr double batches_of_doubt = 4;

}  // namespace

double gained_share(double computing, double waiting) {
  if (!(waiting > 0)) return 1;
  return 1 - std::min(1.0, waiting / (waiting_of_the_unbound * std::max(computing, 1e-12)));
}

void BottleneckShare::add(double computing, double waiting) {
  computing_ += computing - computing_ / batches;
  waiting_ += waiting - waiting_ / batches;
  doubt_ -= doubt_ / batches_of_doubt;
}

double BottleneckShare::value() const {
  const double unbound = 1 - gained_share(computing_, waiting_);
  return 1 - (unbound * (1 - doubt_) + (1 - believed_) * doubt_);
}

}  // namespace millrace::run
