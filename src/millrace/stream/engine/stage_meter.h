// StageMeter: one thread's measurements of one stage.
#pragma once

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/histogram.h"
#include "millrace/stream/engine/counter.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace millrace::stream {

// Timing a call takes 100 to 300 ns: two clock reads and a histogram entry that is not in the cache. To keep
// this below 1 % of the measured time, calls shorter than 40 us are sampled about once every 40 us, and each
// sample is weighted for the calls left out.
//
// Used by one thread and merged after all threads have ended. Only the counts may be read in the meantime.
// The values written for each item are in the first cache line.
class alignas(64) StageMeter {
 public:
  // Call this before the first call of a traced run.
  void enable() { until_sample_ = stride_ = 1; }

  // Called around a call. begin() returns the time, or 0 if the call is not timed; end() takes that value.
  [[nodiscard]] std::int64_t begin() { return --until_sample_ == 0 ? now_ns() : 0; }
  // Returns the end time of a timed call, otherwise 0.
  std::int64_t end(std::int64_t begun_ns) {
    if (begun_ns == 0) return 0;
    const std::int64_t now = now_ns();
    sample(now - begun_ns);
    return now;
  }
  // Whether the next call is to be timed. If false, the call is counted, and begin() and end() must be
  // skipped.
  [[nodiscard]] bool is_next_timed() {
    if (until_sample_ == 1) return true;
    --until_sample_;
    return false;
  }
  [[nodiscard]] std::uint64_t stride() const { return stride_; }

  void merge(const StageMeter& other) {
    items_in += other.items_in;
    items_out += other.items_out;
    failures += other.failures;
    busy_s += other.busy_s;
    starved_s += other.starved_s;
    blocked_s += other.blocked_s;
    parked_s += other.parked_s;
    queued_s += other.queued_s;
    service_s.merge(other.service_s);
  }

 private:
  std::uint64_t until_sample_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t stride_ = 1;
  double mean_ns_ = 40'000;  // the first calls are timed one by one

 public:
  Counter items_in;
  Counter items_out;  // not counted if every call makes one
  Counter failures;
  Counter arrived;    // from stages that do not make exactly one output per call
  Counter discarded;  // destroyed instead of processed
  double busy_s = 0;
  double starved_s = 0;
  double blocked_s = 0;
  double parked_s = 0;
  double queued_s = 0;
  Histogram service_s;

 private:
  void sample(std::int64_t duration_ns) {
    constexpr double interval_ns = 40'000;
    constexpr double longest_stride = 4096;
    const double service = seconds(duration_ns);
    try {
      service_s.record(service, stride_);
    } catch (const std::bad_alloc&) {
      // An estimate without one sample is better than a failed run.
    }
    busy_s += service * static_cast<double>(stride_);
    // A decaying mean, because the work may change during the run.
    mean_ns_ += (static_cast<double>(duration_ns) - mean_ns_) / 8;
    stride_ =
        static_cast<std::uint64_t>(std::clamp(interval_ns / std::max(mean_ns_, 1.0), 1.0, longest_stride));
    until_sample_ = stride_;
  }
};

}  // namespace millrace::stream
