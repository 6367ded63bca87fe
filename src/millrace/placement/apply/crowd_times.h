// CrowdTimes: how many processes and threads a program had at one time, and for how long.
#pragma once

#include "millrace/base/error/clock.h"
#include "millrace/placement/policy/candidates.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace millrace::placement {

// Not thread-safe.
class CrowdTimes {
 public:
  // Records the new numbers from now on.
  void change(std::size_t processes, int threads) {
    const std::int64_t now = now_ns();
    account(now);
    processes_ = static_cast<int>(processes);
    threads_ = threads;
  }
  // Starts counting now; discards what was counted before.
  void begin() {
    ns_.clear();
    since_ns_ = now_ns();
  }
  [[nodiscard]] std::vector<Crowd> crowds() const {
    CrowdTimes until_now = *this;
    until_now.account(now_ns());
    std::vector<Crowd> crowds;
    crowds.reserve(until_now.ns_.size());
    for (const auto& [crowd, ns] : until_now.ns_)
      crowds.push_back({crowd.first, crowd.second, seconds(ns)});
    return crowds;
  }

 private:
  void account(std::int64_t now) {
    if (threads_ > 0) ns_[{processes_, threads_}] += now - since_ns_;
    since_ns_ = now;
  }

  std::map<std::pair<int, int>, std::int64_t> ns_;  // keyed by the numbers of processes and threads
  int processes_ = 0;
  int threads_ = 0;
  std::int64_t since_ns_ = 0;
};

}  // namespace millrace::placement
