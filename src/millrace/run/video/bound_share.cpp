#include "millrace/run/video/bound_share.h"

#include <algorithm>

namespace millrace::run {
namespace {

// Turns that count. Encoders take frames in bursts of about as many as they keep to look ahead or reorder.
constexpr double turns = 16;

// Of the time of computing: a run that waits so long beside it gains nothing by computing faster, as no
// schedule is sought that saves more than that. In between it is bound by either at times.
constexpr double waiting_of_the_unbound = 0.5;

// Turns in which the doubt of the beginning falls to 1/e.
constexpr double turns_of_doubt = 4;

}  // namespace

void BoundShare::add(double computing, double waiting) {
  computing_ += computing - computing_ / turns;
  waiting_ += waiting - waiting_ / turns;
  doubt_ -= doubt_ / turns_of_doubt;
}

double BoundShare::value() const {
  const double unbound =
      waiting_ > 0 ? std::min(1.0, waiting_ / (waiting_of_the_unbound * std::max(computing_, 1e-12))) : 0;
  return 1 - (unbound * (1 - doubt_) + (1 - believed_) * doubt_);
}

}  // namespace millrace::run
