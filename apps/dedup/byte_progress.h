// ByteProgress: one line on a terminal that says how far the work is.
#pragma once

#include "millrace/base/clock.h"

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::dedup {

// "513.2 MB": bytes in units of a thousand, for people.
[[nodiscard]] std::string bytes_text(double bytes);

// Silent where standard error is no terminal. Used by one thread at a time.
class ByteProgress {
 public:
  // total: where it is known.
  ByteProgress(bool enabled, std::optional<std::uint64_t> total);
  ~ByteProgress();
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  // Shows how many bytes are done, at most five times a second.
  void update(std::uint64_t done);
  // Takes the line away.
  void clear();

 private:
  bool enabled_;
  std::optional<std::uint64_t> total_;
  bool shown_ = false;
  std::int64_t start_ns_ = now_ns();
  std::int64_t last_ns_ = 0;
};

}  // namespace millrace::dedup
