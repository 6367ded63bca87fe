// One line on a terminal that is written over while work goes on; silent where standard error is no terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// What progress is counted in.
struct ProgressUnit {
  std::string_view plural;  // of a literal: it is kept
  bool bytes = false;       // shown in kB, MB, ...
};
inline constexpr ProgressUnit progress_in_bytes{.plural = "bytes", .bytes = true};

// "120/300 frames  35.2 frames/s  0:05 left", "1.2 GB/3.4 GB  250.0 MB/s  0:09 left". total: where it is
// known. seconds: since the work began.
[[nodiscard]] std::string progress_text(std::int64_t done, std::optional<std::int64_t> total, double seconds,
                                        const ProgressUnit& unit);

// Used by one thread at a time.
class ProgressLine {
 public:
  // enabled: false keeps it silent on a terminal too.
  ProgressLine(bool enabled, const ProgressUnit& unit);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows how far the work is, and the note behind it, at most five times a second.
  void update(std::int64_t done, std::optional<std::int64_t> total, std::string_view note = "");
  // Takes the line away.
  void clear();

 private:
  bool enabled_;
  ProgressUnit unit_;
  bool shown_ = false;
  std::int64_t start_ns_;
  std::int64_t last_ns_ = 0;
};

}  // namespace millrace
