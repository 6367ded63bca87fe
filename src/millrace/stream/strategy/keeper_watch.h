// KeeperWatch: detects that the worker that keeps the source has reached items worth sharing.
#pragma once

#include "millrace/stream/strategy/source_pace.h"

#include <algorithm>
#include <cstdint>

namespace millrace::stream {

// A worker that keeps the source (see SourcePace) reads the clock only after a burst of items. If one item
// takes long, the items after it wait while other workers are idle. So one idle worker checks from time to
// time how many items the source has made, and takes the source over if they were few.
//
// The checks start soon after the watch begins and become rarer. The time that may be lost stays small
// against the time that went well, and the checks cost almost nothing.
//
// Pure. Used by the watching worker.
class KeeperWatch {
 public:
  // Times in ns, of any clock. `issued`: how many items the source has made.
  void begin(std::int64_t now, std::uint64_t issued) {
    begun_ = looked_ = now;
    issued_ = issued;
    slow_since_ = none;
  }

  // How long to wait before the next check.
  [[nodiscard]] std::int64_t patience() const {
    // The source could not be taken over, because it is slow itself, perhaps for hours.
    if (slow_since_ != none)
      return std::clamp((looked_ - slow_since_) / share_of_slow_time, shortest_ns, longest_when_slow_ns);
    return std::clamp((looked_ - begun_) / share_of_good_time, shortest_ns, longest_ns);
  }

  // Whether the items since the last check took so long on average that they are worth sharing.
  [[nodiscard]] bool finds_it_slow(std::int64_t now, std::uint64_t issued) {
    const auto items = static_cast<std::int64_t>(issued - issued_);
    const bool slow = items * SourcePace::worth_sharing_ns < now - looked_;
    if (!slow)
      slow_since_ = none;
    else if (slow_since_ == none)
      slow_since_ = looked_;
    looked_ = now;
    issued_ = issued;
    return slow;
  }

 private:
  static constexpr std::int64_t none = -1;
  static constexpr std::int64_t share_of_good_time = 32;
  static constexpr std::int64_t share_of_slow_time = 8;
  static constexpr std::int64_t shortest_ns = 100'000;
  static constexpr std::int64_t longest_ns = 1'000'000;
  static constexpr std::int64_t longest_when_slow_ns = 1'000'000'000;

  std::int64_t begun_ = 0;
  std::int64_t looked_ = 0;
  std::uint64_t issued_ = 0;
  std::int64_t slow_since_ = none;  // since when the kept source has been slow
};

}  // namespace millrace::stream
