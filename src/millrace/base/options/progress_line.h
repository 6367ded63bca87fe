// A progress line on the terminal, rewritten in place. Silent if standard error is not a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// The unit of progress.
struct ProgressUnit {
  std::string_view plural;  // string literal; not copied
  bool bytes = false;       // display as kB, MB, ...
};
inline constexpr ProgressUnit progress_in_bytes{.plural = "bytes", .bytes = true};

// "120/300 frames  35.2 frames/s  0:05 left", "1.2 GB/3.4 GB  250.0 MB/s  0:09 left". total: if known.
// seconds: since the start of the work.
[[nodiscard]] std::string progress_text(std::int64_t done, std::optional<std::int64_t> total, double seconds,
                                        const ProgressUnit& unit);

// For one thread at a time.
class ProgressLine {
 public:
  // enabled: if false, the line stays silent on a terminal too.
  ProgressLine(bool enabled, const ProgressUnit& unit);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows the progress, followed by the note. Refreshes at most five times a second.
  void update(std::int64_t done, std::optional<std::int64_t> total, std::string_view note = "");
  // Erases the line.
  void clear();

 private:
  bool enabled_;
  ProgressUnit unit_;
  bool shown_ = false;
  std::int64_t start_ns_;
  std::int64_t last_ns_ = 0;
};

}  // namespace millrace
