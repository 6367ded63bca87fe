// One line on a terminal that is written over while work goes on; silent where standard error is no terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

// Used by one thread.
class ProgressLine {
 public:
  // enabled: false keeps it silent on a terminal too.
  explicit ProgressLine(bool enabled);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows how far the work is, at most five times a second. total: how many there will be, where that is
  // known.
  void update(std::int64_t done, std::optional<std::int64_t> total, std::string_view note);
  // Takes the line away.
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  std::int64_t start_ns_;
  std::int64_t last_ns_ = 0;
};

}  // namespace millrace
