// KeeperWatch: whether the worker that keeps the source has come upon items that others should have.
#pragma once

#include "millrace/stream/strategy/source_pace.h"

#include <algorithm>
#include <cstdint>

namespace millrace::stream {

// A worker that keeps the source (see SourcePace) looks at the clock after a burst of items. If one of them
// takes long it does not come to that, and those behind it wait, while others are idle. So one of the idle
// looks once in a while how many items the source has made, and takes it over if they were few.
//
// Once in a while: soon after it began to watch, then ever more seldom, as the time that may be lost is to be
// small against the time that went well, and the looks cost next to nothing.
//
// Pure. For the one that watches.
class KeeperWatch {
 public:
  // Times in ns, of any clock; `issued`: how many items the source has made.
  void begin(std::int64_t now, std::uint64_t issued) {
    begun_ = looked_ = now;
    issued_ = issued;
    slow_since_ = none;
  }

  // How long to wait before the next look.
  [[nodiscard]] std::int64_t patience() const {
    // What could not be taken over: the source itself is slow, maybe for hours.
    if (slow_since_ != none)
      return std::clamp((looked_ - slow_since_) / share_of_slow_time, shortest_ns, longest_when_slow_ns);
    return std::clamp((looked_ - begun_) / share_of_good_time, shortest_ns, longest_ns);
  }

  // Whether the items since the last look took so long, on the whole, that they are worth sharing.
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
  std::int64_t slow_since_ = none;  // the source was kept by one whose items took long
};

}  // namespace millrace::stream
